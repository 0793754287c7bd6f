// The function app on a Flex Consumption plan, its settings, and who may sign in to it.
param name string
param planName string
param location string
param tags object
param identityId string
param identityClientId string
param storageName string
param deploymentContainerUrl string
param appInsightsConnectionString string
param workspaceId string
param sqlServerFqdn string
param sqlDatabaseName string
param vaultName string
param subnetId string
param pythonVersion string
param instanceMemoryMB int
param maximumInstanceCount int
param httpConcurrency int
param threadCount int
param alwaysReadyWorkers int
param wakeQueueName string
param deckAccess string
param authClientId string
param appSettings object

var signsPeopleIn = deckAccess == 'platform'

// Names have at most 50 characters: Linux plans have cut longer ones.
var baseSettings = {
  AzureWebJobsStorage__accountName: storageName
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  AZURE_CLIENT_ID: identityClientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: appInsightsConnectionString
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  // The app exports its log lines itself: the host would drop those of its own threads, which belong to no invocation.
  PYTHON_ENABLE_OPENTELEMETRY: 'true'
  PYTHON_THREADPOOL_THREAD_COUNT: string(threadCount)
  ChokaQ__SqlServer__ConnectionString: 'Server=tcp:${sqlServerFqdn},1433;Database=${sqlDatabaseName};Authentication=Active Directory Managed Identity;User ID=${identityClientId}'
  ChokaQ__Functions__WakeQueueName: wakeQueueName
  ChokaQ__Deck__TrustPlatformAuthentication: signsPeopleIn ? 'true' : 'false'
}

// Sign-in without a secret: the platform proves itself with the app's identity, which the app registration trusts.
var signInSettings = signsPeopleIn ? {
  OVERRIDE_USE_MI_FIC_ASSERTION_CLIENTID: identityClientId
} : {}

var keySettings = deckAccess == 'keys' ? {
  ChokaQ__Deck__ReadKey: '@Microsoft.KeyVault(VaultName=${vaultName};SecretName=deck-read)'
  ChokaQ__Deck__OperateKey: '@Microsoft.KeyVault(VaultName=${vaultName};SecretName=deck-operate)'
} : {}

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: name
  location: location
  tags: tags
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    // Without it, references to the vault are read with an identity that the app does not have.
    keyVaultReferenceIdentity: identityId
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      ftpsState: 'Disabled'
      http20Enabled: true
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: deploymentContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: pythonVersion
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReadyWorkers == 0 ? [] : [
          {
            name: 'function:chokaq_worker'
            instanceCount: alwaysReadyWorkers
          }
        ]
        triggers: {
          http: {
            perInstanceConcurrency: httpConcurrency
          }
        }
      }
      // Old instances finish what they run, for up to an hour. The other strategy ends running jobs at each deployment.
      // In preview: the types that the compiler knows do not have it yet, in any version.
      #disable-next-line BCP037
      siteUpdateStrategy: {
        type: 'RollingUpdate'
      }
    }
  }
}

resource settings 'Microsoft.Web/sites/config@2024-11-01' = {
  parent: app
  name: 'appsettings'
  properties: union(baseSettings, signInSettings, keySettings, appSettings)
}

// Callers without a sign-in are let through, since producers hold function keys only. The app itself checks who may use
// the Deck. While this is on, the platform strips forged headers; while it is off, the app does not believe them.
resource signIn 'Microsoft.Web/sites/config@2024-11-01' = if (signsPeopleIn) {
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: {
      enabled: true
    }
    globalValidation: {
      requireAuthentication: false
      unauthenticatedClientAction: 'AllowAnonymous'
    }
    httpSettings: {
      requireHttps: true
    }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: authClientId
          clientSecretSettingName: 'OVERRIDE_USE_MI_FIC_ASSERTION_CLIENTID'
          openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
        }
        validation: {
          allowedAudiences: [
            authClientId
            'api://${authClientId}'
          ]
        }
      }
    }
    login: {
      tokenStore: {
        enabled: false
      }
    }
  }
  dependsOn: [
    settings
  ]
}

resource ftp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource scm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

// What the host says of itself, such as why it found no functions.
resource hostLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'host'
  scope: app
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'FunctionAppLogs'
        enabled: true
      }
    ]
  }
}

output name string = app.name
output hostName string = app.properties.defaultHostName
