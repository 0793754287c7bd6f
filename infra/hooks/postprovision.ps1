# After `azd provision`: brings the database schema up to date and lets the app's identity in, as whoever is signed in.
# azd runs it with the outputs of infra/main.bicep as variables. Safe to repeat. Its twin is postprovision.sh.
#
#   CHOKAQ_CLIENT_IP     this machine's address as the database sees it; asked of api.ipify.org if not set
#   CHOKAQ_HOOK_PYTHON   a Python with requirements.txt; .venv, or python, if not set
#   CHOKAQ_HOOK_PAUSE    seconds between tries; 15 if not set
$ErrorActionPreference = 'Stop'
# Programs that fail are looked at, and tried again, by this script itself.
$PSNativeCommandUseErrorActionPreference = $false

$Tries = 8
$Rule = "chokaq-hook-$PID"
$Pause = if ($env:CHOKAQ_HOOK_PAUSE) { [int]$env:CHOKAQ_HOOK_PAUSE } else { 15 }

function Find-Python {
    foreach ($candidate in @($env:CHOKAQ_HOOK_PYTHON, '.venv/Scripts/python.exe', '.venv/bin/python', 'python')) {
        if (-not $candidate -or -not (Get-Command $candidate -ErrorAction SilentlyContinue)) { continue }
        & $candidate -c 'import azure.identity, pydantic, pyodbc' 2>$null
        if ($LASTEXITCODE -eq 0) { return $candidate }
    }
    throw "no Python with the packages of requirements.txt; install them into .venv"
}

# A rule for this one address, and only until the script ends.
function Open-Door {
    $address = if ($env:CHOKAQ_CLIENT_IP) { $env:CHOKAQ_CLIENT_IP } else { Invoke-RestMethod 'https://api.ipify.org' }
    Write-Host "Opening the database server for $address, until this script ends"
    az sql server firewall-rule create --resource-group $env:AZURE_RESOURCE_GROUP --server $env:SQL_SERVER_NAME `
        --name $Rule --start-ip-address $address --end-ip-address $address --output none
    if ($LASTEXITCODE -ne 0) { throw "the firewall rule could not be made" }
}

function Close-Door {
    az sql server firewall-rule delete --resource-group $env:AZURE_RESOURCE_GROUP --server $env:SQL_SERVER_NAME `
        --name $Rule --output none
    if ($LASTEXITCODE -ne 0) {
        Write-Warning "could not remove the firewall rule $Rule of $($env:SQL_SERVER_NAME): remove it by hand"
    }
}

# A new firewall rule takes up to a few minutes to count.
function Invoke-Patiently([string]$Python, [string[]]$Arguments) {
    for ($try = 1; $try -le $Tries; $try++) {
        & $Python @Arguments
        if ($LASTEXITCODE -eq 0) { return }
        if ($try -lt $Tries) { Start-Sleep -Seconds $Pause }
    }
    throw "gave up after $Tries tries: $Python $Arguments"
}

Set-Location (Join-Path $PSScriptRoot '../..')

# The server lets nobody in from here; opening it would be the very hole that the private network closes.
if ($env:SQL_IS_PRIVATE -eq 'true') {
    Write-Host 'The database is reached over the virtual network only, so it was NOT prepared from here.'
    Write-Host 'Do it from a machine in that network: docs/deploy.md, "With a private network".'
    exit 0
}

$python = Find-Python
$env:ChokaQ__SqlServer__ConnectionString =
    "Server=tcp:$($env:SQL_SERVER_FQDN),1433;Database=$($env:SQL_DATABASE_NAME);Authentication=Active Directory Default"
try {
    Open-Door
    Invoke-Patiently $python @('-m', 'chokaq_core', 'schema', 'apply')
    Invoke-Patiently $python @('-m', 'infra.hooks.grant', $env:APP_IDENTITY_NAME, $env:APP_IDENTITY_PRINCIPAL_ID)
}
finally {
    Close-Door
}
