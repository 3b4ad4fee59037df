/// Catalogues that cannot be used.
///
/// Each fault is on a separate line.
package struct CatalogFailure: Error, CustomStringConvertible {
    package let folder: String
    package let faults: [String]

    package var description: String {
        let count = faults.count == 1 ? "a fault; correct it" : "\(faults.count) faults; correct them"
        return "the catalogues in \(folder) have \(count):\n\(faults.joined(separator: "\n"))"
    }
}

/// All faults of the files that the configuration names, together.
package struct FileFaults: Error, CustomStringConvertible {
    package let failures: [any Error]

    package init(failures: [any Error]) {
        self.failures = failures
    }

    package var description: String { failures.map { String(describing: $0) }.joined(separator: "\n") }
}
