/// One thing wrong in a catalogue file, so that a person can go there and mend it.
public typealias CatalogFault = DocumentFault

/// Everything that is wrong in a set of catalogue files, at once.
public typealias CatalogFaults = DocumentFaults
