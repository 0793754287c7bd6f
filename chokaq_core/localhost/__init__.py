"""
A local stand-in for the Azure Functions host: serves an unchanged `function_app.py` without Azure.

Start it with `python -m chokaq_core.localhost`. Where each rule lives:

    environment.py      what the environment holds before the app is imported; %SETTING% and number settings
    settings_file.py    local.settings.json (json_file.py reads it and host.json)
    host_json.py        host.json
    app_loader.py       importing function_app.py and finding its one FunctionApp
    functions.py        the functions of an app, as this host sees them
    host_rules.py       what the Azure host would refuse, refused here with every reason at once
    routes.py           route templates and their matching
    schedules.py        NCRONTAB
    invocation.py       how handlers are called: threads, event loop, context
    host_names.py       the names that this machine is called by; others are refused
    http_trigger.py     requests in, answers out
    timer_trigger.py    ticks
    queue_trigger.py    wakes: delivery, repetition, poison
    wake_source.py      what a listener asks of its queue
    wake_sources.py     where wakes come from: this process, or a Storage queue
    storage_queue.py    a Storage queue as the platform's queue trigger reads it
    server.py           the life of the host: serve, drain, stop
    run.py              one run of it: socket, signals, exit code
    logs.py             what stderr looks like
    welcome.py          what stdout says once the host is ready

This file stays empty of imports, so that `--help` and the command line's own errors come at once.
"""
