-- The texts that become the labels of an alert: what it is routed and told apart by.
session_id AS session,
run_id AS run,
if(owner_id = '', 'root', owner_id) AS owner,
toString(agent) AS agent,
toString(service) AS service,
toString(severity_now) AS severity,
toString(environment) AS environment,
