/// Catalogues that cannot be used: each fault on a line of its own.
struct CatalogFailure: Error, CustomStringConvertible {
    let folder: String
    let faults: [String]

    var description: String {
        let count = faults.count == 1 ? "a fault; correct it" : "\(faults.count) faults; correct them"
        return "the catalogues in \(folder) have \(count):\n\(faults.joined(separator: "\n"))"
    }
}

/// Everything that is wrong in the files that the configuration names, at once.
struct FileFaults: Error, CustomStringConvertible {
    let failures: [any Error]

    var description: String { failures.map { String(describing: $0) }.joined(separator: "\n") }
}
