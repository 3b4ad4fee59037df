/// All faults of the files that the configuration names, together.
package struct FileFaults: Error, CustomStringConvertible {
    package let failures: [any Error]

    package init(failures: [any Error]) {
        self.failures = failures
    }

    package var description: String { failures.map { String(describing: $0) }.joined(separator: "\n") }
}
