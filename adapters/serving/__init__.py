"""`tht serve`: one process for agents, programs and people. Thin over the opened workspace: no rule of the domain."""
