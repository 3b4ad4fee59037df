import BellhopRules
import ServiceRuntime

extension Words {
    /// The whole number of an option; nil where it is not given.
    func number(_ option: String, in range: ClosedRange<Int>, of command: String) throws(CommandFailure) -> Int? {
        guard let text = value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .usage(
                of: command,
                "--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound); found \(text)"
            )
        }
        return number
    }

    /// The lanes of `--lanes`, all three without it.
    func lanes(of command: String) throws(CommandFailure) -> [Lane] {
        guard let named = value("lanes") else { return Lane.allCases }
        var lanes: [Lane] = []
        for name in named.split(separator: ",", omittingEmptySubsequences: false) {
            guard let lane = Lane(rawValue: String(name)), !lanes.contains(lane) else {
                throw .usage(of: command, "--lanes takes some of urgent,normal,bulk, each once; found \(named)")
            }
            lanes.append(lane)
        }
        return lanes
    }
}
