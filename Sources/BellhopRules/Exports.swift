// Targets that import the rules also need JSON, for preference documents and the data of events.
@_exported public import BellhopJSON
