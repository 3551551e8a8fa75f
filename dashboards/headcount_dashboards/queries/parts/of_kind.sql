-- Narrows a table with session, service and agent type to what the variables choose.
{{ of_environment }}
AND $__conditionalAll(service IN (${service:singlequote}), $service)
AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
