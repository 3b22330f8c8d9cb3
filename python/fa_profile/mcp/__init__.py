"""The agents' door: a server of the Model Context Protocol on top of the program fa-profile (`fa-profile mcp`).

The tools start the program and read what it writes; nothing is analysed here. The modules import neither the rest of the
package nor its extension, so that the server runs with any Python from 3.10 that has the SDK `mcp`.
"""
