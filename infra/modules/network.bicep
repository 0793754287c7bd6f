// A virtual network: one subnet that the app sends from, one for the private endpoints of what it speaks to.
param name string
param location string
param tags object

resource appRules 'Microsoft.Network/networkSecurityGroups@2024-01-01' = {
  name: '${name}-app'
  location: location
  tags: tags
}

resource endpointRules 'Microsoft.Network/networkSecurityGroups@2024-01-01' = {
  name: '${name}-endpoints'
  location: location
  tags: tags
}

resource network 'Microsoft.Network/virtualNetworks@2024-01-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [
        '10.80.0.0/16'
      ]
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: '10.80.0.0/24'
          networkSecurityGroup: {
            id: appRules.id
          }
          delegations: [
            {
              name: 'flex'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.80.1.0/26'
          networkSecurityGroup: {
            id: endpointRules.id
          }
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
    ]
  }
}

output networkId string = network.id
output appSubnetId string = network.properties.subnets[0].id
output endpointSubnetId string = network.properties.subnets[1].id
