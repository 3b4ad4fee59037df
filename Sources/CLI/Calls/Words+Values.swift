package import BellhopRules
package import ServiceRuntime
import Settings

extension Words: NamedTexts {
    package func text(_ option: String) -> String? { value(option) }

    package func fault(_ option: String, _ message: String) -> CommandFailure { misuse("--\(option) \(message)") }

    /// Returns the lanes of `--lanes`, or all three if it is absent.
    package func lanes() throws(CommandFailure) -> [Lane] {
        guard let named = value("lanes") else { return Lane.allCases }
        var lanes: [Lane] = []
        for name in named.split(separator: ",", omittingEmptySubsequences: false) {
            guard let lane = Lane(rawValue: String(name)), !lanes.contains(lane) else {
                throw misuse("--lanes takes some of urgent,normal,bulk, each once; found \(named)")
            }
            lanes.append(lane)
        }
        return lanes
    }
}
