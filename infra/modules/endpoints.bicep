// Private endpoints of the storage account, the database server and the vault, with the names that lead to them.
param location string
param tags object
param networkId string
param subnetId string
param storageId string
param sqlServerId string
param vaultId string

var targets = [
  {
    name: 'blob'
    serviceId: storageId
    group: 'blob'
    zone: 'privatelink.blob.${environment().suffixes.storage}'
  }
  {
    name: 'queue'
    serviceId: storageId
    group: 'queue'
    zone: 'privatelink.queue.${environment().suffixes.storage}'
  }
  {
    name: 'table'
    serviceId: storageId
    group: 'table'
    zone: 'privatelink.table.${environment().suffixes.storage}'
  }
  {
    name: 'sql'
    serviceId: sqlServerId
    group: 'sqlServer'
    zone: 'privatelink${environment().suffixes.sqlServerHostname}'
  }
  {
    name: 'vault'
    serviceId: vaultId
    group: 'vault'
    zone: 'privatelink.vaultcore.azure.net'
  }
]

resource zones 'Microsoft.Network/privateDnsZones@2020-06-01' = [for target in targets: {
  name: target.zone
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01' = [for (target, index) in targets: {
  parent: zones[index]
  name: 'app'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: networkId
    }
  }
}]

resource endpoints 'Microsoft.Network/privateEndpoints@2024-01-01' = [for target in targets: {
  name: 'pe-${target.name}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: target.name
        properties: {
          privateLinkServiceId: target.serviceId
          groupIds: [
            target.group
          ]
        }
      }
    ]
  }
}]

resource zoneGroups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-01-01' = [for (target, index) in targets: {
  parent: endpoints[index]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: target.name
        properties: {
          privateDnsZoneId: zones[index].id
        }
      }
    ]
  }
}]
