// Azure SQL: one server that knows Entra identities only, and one database.
param serverName string
param databaseName string
param location string
param tags object
param skuName string
param skuTier string
param zoneRedundant bool
param backupRedundancy string
param adminPrincipalId string
param adminPrincipalType string
param adminLogin string
param workspaceId string
param isPrivate bool

var isServerless = startsWith(skuName, 'GP_S_')

resource server 'Microsoft.Sql/servers@2023-08-01' = {
  name: serverName
  location: location
  tags: tags
  properties: {
    version: '12.0'
    minimalTlsVersion: '1.2'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    restrictOutboundNetworkAccess: 'Disabled'
    administrators: {
      administratorType: 'ActiveDirectory'
      azureADOnlyAuthentication: true
      // The database service calls a service principal an application.
      principalType: adminPrincipalType == 'ServicePrincipal' ? 'Application' : adminPrincipalType
      login: adminLogin
      sid: adminPrincipalId
      tenantId: tenant().tenantId
    }
  }
}

resource database 'Microsoft.Sql/servers/databases@2023-08-01' = {
  parent: server
  name: databaseName
  location: location
  tags: tags
  sku: {
    name: skuName
    tier: skuTier
  }
  properties: {
    zoneRedundant: zoneRedundant
    requestedBackupStorageRedundancy: backupRedundancy
    // Never paused: timers ask it several times a minute, so it would not pause anyway, and a database that wakes up
    // answers its first callers with errors for a minute.
    autoPauseDelay: isServerless ? -1 : null
    minCapacity: isServerless ? json('0.5') : null
  }
}

// Addresses of Azure itself, since an app without a virtual network has none of its own. Whoever comes from there
// still needs an Entra identity that the database knows.
resource azureServices 'Microsoft.Sql/servers/firewallRules@2023-08-01' = if (!isPrivate) {
  parent: server
  name: 'AllowAllWindowsAzureIps'
  properties: {
    startIpAddress: '0.0.0.0'
    endIpAddress: '0.0.0.0'
  }
}

resource databaseLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'faults'
  scope: database
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'Errors'
        enabled: true
      }
      {
        category: 'Timeouts'
        enabled: true
      }
      {
        category: 'Blocks'
        enabled: true
      }
      {
        category: 'Deadlocks'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'Basic'
        enabled: true
      }
    ]
  }
}

output serverId string = server.id
output serverName string = server.name
output serverFqdn string = server.properties.fullyQualifiedDomainName
output databaseName string = database.name
