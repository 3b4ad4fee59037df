// Whoever links the rules reads and writes JSON with them: documents of preferences, data of events.
@_exported public import BellhopJSON
