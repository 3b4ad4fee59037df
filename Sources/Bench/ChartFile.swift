import ServiceRuntime

/// The file of a run's chart, which is created before the run, so that a wrong name does not cost a measurement.
struct ChartFile {
    private let path: String
    private let file: NewFile

    init(_ path: String) throws(CommandFailure) {
        self.path = path
        do throws(OutputFile.Failure) {
            file = try NewFile(beside: path)
        } catch {
            throw Self.failure(path, error)
        }
    }

    /// Writes the chart and gives the file its name.
    func write(_ chart: String) throws(CommandFailure) {
        do throws(OutputFile.Failure) {
            try file.allow(0o644)
            try file.write(Array(chart.utf8))
            try file.rename(to: path, predecessor: .replaced)
        } catch {
            file.remove()
            throw Self.failure(path, error)
        }
    }

    /// Removes the file without a chart.
    func remove() { file.remove() }

    private static func failure(_ path: String, _ cause: OutputFile.Failure) -> CommandFailure {
        CommandFailure(
            .badInput,
            attempted: "writing the chart to \(path)",
            cameBack: cause.reason,
            whatToDo: "name a file in a folder that may be written to"
        )
    }
}
