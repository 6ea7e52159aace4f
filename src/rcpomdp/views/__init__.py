"""All that is looked at: explorer, rendering, drawings, notebooks."""
