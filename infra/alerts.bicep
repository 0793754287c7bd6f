// Alert rules, the group that they call, and the workbook. What each alert looks at is in queries/, when it fires in
// thresholds.json; docs/operations.md has the matrix and the runbooks.
param location string
param tags object
param componentId string
param workspaceId string
param emails array
param enabled bool
param runbookUrl string

@description('When each alert fires. The default is the file that the documentation and the tests go by.')
param thresholds object = loadJsonContent('thresholds.json')

@description('Thresholds of this deployment, by the id of the alert, in place of those of the file.')
param ownThresholds object = {}

var queries = {
  'queue-lag': loadTextContent('queries/queue-lag.kql')
  'queue-lag-sql-unhealthy': loadTextContent('queries/queue-lag-sql-unhealthy.kql')
  'sql-unhealthy': loadTextContent('queries/sql-unhealthy.kql')
  'worker-missing': loadTextContent('queries/worker-missing.kql')
  'timers-silent': loadTextContent('queries/timers-silent.kql')
  'maintenance-silent': loadTextContent('queries/maintenance-silent.kql')
  'configuration-invalid': loadTextContent('queries/configuration-invalid.kql')
  'dlq-rate': loadTextContent('queries/dlq-rate.kql')
  'dlq-fatal': loadTextContent('queries/dlq-fatal.kql')
  'dlq-rejected': loadTextContent('queries/dlq-rejected.kql')
  'dlq-throttled': loadTextContent('queries/dlq-throttled.kql')
  'dlq-timeout': loadTextContent('queries/dlq-timeout.kql')
  'dlq-zombie': loadTextContent('queries/dlq-zombie.kql')
  'dlq-exhausted': loadTextContent('queries/dlq-exhausted.kql')
  'heartbeat-failures': loadTextContent('queries/heartbeat-failures.kql')
  'heartbeat-pressure': loadTextContent('queries/heartbeat-pressure.kql')
  'transition-conflicts': loadTextContent('queries/transition-conflicts.kql')
  'circuit-open': loadTextContent('queries/circuit-open.kql')
  'slots-abandoned': loadTextContent('queries/slots-abandoned.kql')
  'poison-wakes': loadTextContent('queries/poison-wakes.kql')
}

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: 'chokaq-on-call'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'chokaq'
    enabled: true
    emailReceivers: [for (email, index) in emails: {
      name: 'mail-${index}'
      emailAddress: email
      useCommonAlertSchema: true
    }]
  }
}

resource rules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for alert in thresholds.alerts: {
  name: 'chokaq-${alert.id}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: 'ChokaQ: ${alert.title}'
    description: 'Runbook: ${runbookUrl}#${alert.runbook}'
    severity: alert.severity
    enabled: enabled
    autoMitigate: true
    // A table, or a column of it, is there only once something was sent.
    skipQueryValidation: true
    scopes: [
      alert.scope == 'workspace' ? workspaceId : componentId
    ]
    evaluationFrequency: 'PT${alert.frequencyMinutes}M'
    windowSize: 'PT${alert.windowMinutes}M'
    criteria: {
      allOf: [
        {
          query: queries[alert.id]
          metricMeasureColumn: 'measure'
          timeAggregation: 'Maximum'
          operator: alert.operator
          threshold: contains(ownThresholds, alert.id) ? ownThresholds[alert.id] : alert.threshold
          dimensions: empty(alert.dimension) ? [] : [
            {
              name: alert.dimension
              operator: 'Include'
              values: [
                '*'
              ]
            }
          ]
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: [
        people.id
      ]
      customProperties: {
        runbook: '${runbookUrl}#${alert.runbook}'
      }
    }
  }
}]

resource workbook 'Microsoft.Insights/workbooks@2022-04-01' = {
  name: guid(resourceGroup().id, 'chokaq')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'ChokaQ'
    category: 'workbook'
    version: '1.0'
    sourceId: componentId
    serializedData: replace(loadTextContent('workbook.json'), '{componentId}', componentId)
  }
}
