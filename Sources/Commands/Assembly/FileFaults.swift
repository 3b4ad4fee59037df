/// Catalogues that cannot be used.
///
/// Each fault is on a separate line.
struct CatalogFailure: Error, CustomStringConvertible {
    let folder: String
    let faults: [String]

    var description: String {
        let count = faults.count == 1 ? "a fault; correct it" : "\(faults.count) faults; correct them"
        return "the catalogues in \(folder) have \(count):\n\(faults.joined(separator: "\n"))"
    }
}

/// All faults of the files that the configuration names, together.
struct FileFaults: Error, CustomStringConvertible {
    let failures: [any Error]

    var description: String { failures.map { String(describing: $0) }.joined(separator: "\n") }
}
