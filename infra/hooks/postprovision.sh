#!/usr/bin/env sh
# After `azd provision`: brings the database schema up to date and lets the app's identity in, as whoever is signed in.
# azd runs it with the outputs of infra/main.bicep as variables. Safe to repeat. Its twin is postprovision.ps1.
#
#   CHOKAQ_CLIENT_IP     this machine's address as the database sees it; asked of api.ipify.org if not set
#   CHOKAQ_HOOK_PYTHON   a Python with requirements.txt; .venv, or python3, if not set
#   CHOKAQ_HOOK_PAUSE    seconds between tries; 15 if not set
set -eu

TRIES=8
RULE="chokaq-hook-$$"

main() {
    cd "$(dirname "$0")/../.."
    if [ "$SQL_IS_PRIVATE" = "true" ]; then
        tell_how_by_hand
        return 0
    fi
    python=$(find_python)
    trap close_door EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    open_door
    prepare_database "$python"
}

# The server lets nobody in from here; opening it would be the very hole that the private network closes.
tell_how_by_hand() {
    echo "The database is reached over the virtual network only, so it was NOT prepared from here."
    echo "Do it from a machine in that network: docs/deploy.md, \"With a private network\"."
}

find_python() {
    for candidate in "${CHOKAQ_HOOK_PYTHON:-}" .venv/bin/python python3; do
        if [ -n "$candidate" ] && "$candidate" -c 'import azure.identity, pydantic, pyodbc' 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo "no Python with the packages of requirements.txt; 'make install' makes one in .venv" >&2
    return 1
}

# A rule for this one address, and only until the script ends.
open_door() {
    address=${CHOKAQ_CLIENT_IP:-$(curl -fsS https://api.ipify.org)}
    echo "Opening the database server for $address, until this script ends"
    az sql server firewall-rule create --resource-group "$AZURE_RESOURCE_GROUP" --server "$SQL_SERVER_NAME" \
        --name "$RULE" --start-ip-address "$address" --end-ip-address "$address" --output none
}

close_door() {
    status=$?
    az sql server firewall-rule delete --resource-group "$AZURE_RESOURCE_GROUP" --server "$SQL_SERVER_NAME" \
        --name "$RULE" --output none ||
        echo "could not remove the firewall rule $RULE of $SQL_SERVER_NAME: remove it by hand" >&2
    exit "$status"
}

prepare_database() {
    ChokaQ__SqlServer__ConnectionString="Server=tcp:$SQL_SERVER_FQDN,1433;Database=$SQL_DATABASE_NAME;Authentication=Active Directory Default"
    export ChokaQ__SqlServer__ConnectionString
    patiently "$1" -m chokaq_core schema apply
    patiently "$1" -m infra.hooks.grant "$APP_IDENTITY_NAME" "$APP_IDENTITY_PRINCIPAL_ID"
}

# A new firewall rule takes up to a few minutes to count.
patiently() {
    try=1
    until "$@"; do
        if [ "$try" -ge "$TRIES" ]; then
            echo "gave up after $TRIES tries: $*" >&2
            return 1
        fi
        try=$((try + 1))
        sleep "${CHOKAQ_HOOK_PAUSE:-15}"
    done
}

main
