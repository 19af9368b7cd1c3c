"""The Model Context Protocol: tools, resources and prompts over the opened workspace, on stdio and streamable HTTP.

Nothing here decides anything: every tool calls the command or query that the other interfaces call. There is no tool
that promotes, grants or resolves: those are people's.
"""
