// Everything that one deployment of the app needs, in a resource group of its own. Raw resources only, so that every
// property can be read, and checked, here. `docs/deploy.md` says what each part is for.
targetScope = 'subscription'

@description('Name of this deployment, such as chokaq-prod. azd takes the name of its environment.')
@minLength(1)
@maxLength(40)
param environmentName string

@description('Azure region of every resource.')
@minLength(1)
param location string

@description('Name of the resource group, which is created.')
param resourceGroupName string = 'rg-${environmentName}'

@description('Object id of the person, group or service principal that administers the database server. azd takes whoever runs it.')
@minLength(1)
param adminPrincipalId string

@description('What that principal is.')
@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
param adminPrincipalType string = 'User'

@description('What the database server calls its administrator; any text.')
param adminLogin string = 'deployer'

@description('Python of the app. requirements.txt serves 3.11 to 3.14; 3.13 is what the project deploys.')
@allowed([
  '3.11'
  '3.12'
  '3.13'
])
param pythonVersion string = '3.13'

@description('Memory of one instance in MB: 2048 comes with one core, 512 with a quarter.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 2048

@description('Most instances of the app at once. It bounds the sessions of the database: docs/sizing.md.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('HTTP requests that one instance answers at once; the platform would take one for Python.')
@minValue(1)
@maxValue(100)
param httpConcurrency int = 16

@description('Threads of one instance for HTTP, queue and timer functions; not below httpConcurrency.')
@minValue(1)
@maxValue(32)
param threadCount int = 32

@description('Instances kept ready for the worker function, so that the first job after a pause finds a warm one. Each is billed always.')
@minValue(0)
@maxValue(20)
param alwaysReadyWorkers int = 0

@description('Size of the database, as the service names it: S1, S3, GP_Gen5_2, GP_S_Gen5_2.')
param sqlSkuName string = 'S1'

@description('Service tier of that size.')
@allowed([
  'Standard'
  'Premium'
  'GeneralPurpose'
  'BusinessCritical'
  'Hyperscale'
])
param sqlSkuTier string = 'Standard'

@description('Whether a standby in other zones is kept; Premium, BusinessCritical and GeneralPurpose sizes can, Standard cannot.')
param sqlZoneRedundant bool = false

@description('Redundancy of the database backups.')
@allowed([
  'Local'
  'Zone'
  'Geo'
])
param sqlBackupRedundancy string = 'Local'

@description('Redundancy of the storage account, which holds the wakes, the leases of timers and the deployed code.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
])
param storageSkuName string = 'Standard_LRS'

@description('Name of the Storage queue that carries the wakes.')
@minLength(3)
@maxLength(56)
param wakeQueueName string = 'chokaq-wake'

@description('Whether the app, the database, the storage account and the vault speak over a virtual network only. The address of the app itself stays public.')
param privateNetwork bool = false

@description('Who may use the Deck. platform: people with the app roles, through App Service Authentication; needs authClientId. keys: holders of the two keys in the vault, which must be there first. none: nobody.')
@allowed([
  'none'
  'keys'
  'platform'
])
param deckAccess string = 'none'

@description('Client id of the Entra app registration that people sign in to; for deckAccess platform.')
param authClientId string = ''

@description('More app settings, by name. They win over those of the template.')
param appSettings object = {}

@description('App settings that come from the vault: name of the setting to name of the secret.')
param vaultSettings object = {}

@description('Days that logs, metrics and traces are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Whether a deleted vault and its secrets are kept for 90 days whatever anybody does. It cannot be turned off again.')
param vaultPurgeProtection bool = true

@description('Addresses that alerts are mailed to, with commas between them. Without one, alerts show in the portal only.')
param alertEmails string = ''

@description('Whether alert rules are on.')
param alertsEnabled bool = true

@description('Thresholds of alerts that differ from those in infra/thresholds.json, by the name of the alert.')
param alertThresholds object = {}

@description('Page that holds the runbooks; an alert links to its own.')
param runbookUrl string = 'docs/operations.md'

@description('Id of this deployment for everything that needs a name of its own in the world.')
var token = toLower(uniqueString(subscription().id, environmentName, location))

var vaultName = 'kv-${token}'

var vaultReferences = toObject(items(vaultSettings), entry => entry.key, entry => '@Microsoft.KeyVault(VaultName=${vaultName};SecretName=${entry.value})')

var tags = {
  'azd-env-name': environmentName
}

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: resourceGroupName
  location: location
  tags: tags
}

module identity 'modules/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-${token}'
    location: location
    tags: tags
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: 'log-${token}'
    componentName: 'appi-${token}'
    location: location
    tags: tags
    retentionDays: logRetentionDays
    publisherPrincipalId: identity.outputs.principalId
  }
}

module network 'modules/network.bicep' = if (privateNetwork) {
  name: 'network'
  scope: group
  params: {
    name: 'vnet-${token}'
    location: location
    tags: tags
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'st${token}'
    location: location
    tags: tags
    skuName: storageSkuName
    wakeQueueName: wakeQueueName
    appPrincipalId: identity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
    isPrivate: privateNetwork
  }
}

module vault 'modules/vault.bicep' = {
  name: 'vault'
  scope: group
  params: {
    name: vaultName
    location: location
    tags: tags
    purgeProtection: vaultPurgeProtection
    readerPrincipalId: identity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
    isPrivate: privateNetwork
  }
}

module sql 'modules/sql.bicep' = {
  name: 'sql'
  scope: group
  params: {
    serverName: 'sql-${token}'
    databaseName: 'jobs'
    location: location
    tags: tags
    skuName: sqlSkuName
    skuTier: sqlSkuTier
    zoneRedundant: sqlZoneRedundant
    backupRedundancy: sqlBackupRedundancy
    adminPrincipalId: adminPrincipalId
    adminPrincipalType: adminPrincipalType
    adminLogin: adminLogin
    workspaceId: monitoring.outputs.workspaceId
    isPrivate: privateNetwork
  }
}

module endpoints 'modules/endpoints.bicep' = if (privateNetwork) {
  name: 'endpoints'
  scope: group
  params: {
    location: location
    tags: tags
    networkId: privateNetwork ? network!.outputs.networkId : ''
    subnetId: privateNetwork ? network!.outputs.endpointSubnetId : ''
    storageId: storage.outputs.id
    sqlServerId: sql.outputs.serverId
    vaultId: vault.outputs.id
  }
}

module app 'modules/app.bicep' = {
  name: 'app'
  scope: group
  params: {
    name: 'func-${token}'
    planName: 'plan-${token}'
    location: location
    tags: union(tags, { 'azd-service-name': 'api' })
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    storageName: storage.outputs.name
    deploymentContainerUrl: storage.outputs.deploymentContainerUrl
    appInsightsConnectionString: monitoring.outputs.connectionString
    workspaceId: monitoring.outputs.workspaceId
    sqlServerFqdn: sql.outputs.serverFqdn
    sqlDatabaseName: sql.outputs.databaseName
    vaultName: vault.outputs.name
    subnetId: privateNetwork ? network!.outputs.appSubnetId : ''
    pythonVersion: pythonVersion
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    httpConcurrency: httpConcurrency
    threadCount: threadCount
    alwaysReadyWorkers: alwaysReadyWorkers
    wakeQueueName: wakeQueueName
    deckAccess: deckAccess
    authClientId: authClientId
    appSettings: union(vaultReferences, appSettings)
  }
}

module alerts 'alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    location: location
    tags: tags
    componentId: monitoring.outputs.componentId
    workspaceId: monitoring.outputs.workspaceId
    emails: empty(alertEmails) ? [] : split(alertEmails, ',')
    enabled: alertsEnabled
    ownThresholds: alertThresholds
    runbookUrl: runbookUrl
  }
}

@description('The resource group.')
output AZURE_RESOURCE_GROUP string = group.name
@description('The function app.')
output APP_NAME string = app.outputs.name
@description('Where the app answers.')
output APP_URL string = 'https://${app.outputs.hostName}'
@description('The identity that the app works as; the database knows it by this name.')
output APP_IDENTITY_NAME string = identity.outputs.name
@description('Client id of that identity.')
output APP_IDENTITY_CLIENT_ID string = identity.outputs.clientId
@description('Object id of that identity.')
output APP_IDENTITY_PRINCIPAL_ID string = identity.outputs.principalId
@description('The database server.')
output SQL_SERVER_NAME string = sql.outputs.serverName
@description('Address of the database server.')
output SQL_SERVER_FQDN string = sql.outputs.serverFqdn
@description('The database.')
output SQL_DATABASE_NAME string = sql.outputs.databaseName
@description('Whether the database can be reached over the virtual network only.')
output SQL_IS_PRIVATE bool = privateNetwork
@description('The storage account.')
output STORAGE_ACCOUNT_NAME string = storage.outputs.name
@description('The queue of wakes.')
output WAKE_QUEUE_NAME string = wakeQueueName
@description('The vault.')
output KEY_VAULT_NAME string = vault.outputs.name
@description('Application Insights, where logs, metrics and traces are.')
output APPLICATION_INSIGHTS_NAME string = monitoring.outputs.componentName
