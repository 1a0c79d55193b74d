"""All scenarios by name, in the order in which they run."""
import scenarios_admin
import scenarios_configs
import scenarios_groups
import scenarios_groups_tools
import scenarios_protocol
import scenarios_records
import scenarios_tools

ALL = {
    function.__name__: function
    for module in (scenarios_protocol, scenarios_admin, scenarios_configs, scenarios_records,
                   scenarios_groups, scenarios_groups_tools, scenarios_tools)
    for function in module.SCENARIOS
}
