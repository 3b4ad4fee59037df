package import BellhopRules
import Foundation
import ServiceRuntime
import Synchronization

/// The active catalogues, which a reload replaces between two batches.
package final class CatalogSource: Sendable {
    private let state: Mutex<(catalogs: CatalogSet, refusal: String?)>

    package init(_ catalogs: CatalogSet) { state = Mutex((catalogs, nil)) }

    package var current: CatalogSet { state.withLock(\.catalogs) }

    /// The reason why the catalogues found last on disk are not active; `nil` if they are.
    package var refusal: String? { state.withLock(\.refusal) }

    /// Notes that the catalogues on disk cannot be used.
    package func refuse(because reason: String) { state.withLock { $0.refusal = reason } }

    /// Activates other catalogues; running batches keep those with which they began.
    package func replace(_ others: CatalogSet) { state.withLock { $0 = (others, nil) } }
}

extension BellhopConfiguration {
    /// Reads every `*.json5` of the folder.
    ///
    /// All faults of all files end the command together.
    package func readCatalogs() throws -> CatalogSet {
        guard let folder = catalogs else { throw CommandFailure.missing(.catalogs) }
        guard let content = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw Self.noCatalogs(in: folder, "the folder cannot be read")
        }
        let names = content.filter { $0.hasSuffix(".json5") }.sorted()
        guard !names.isEmpty else { throw Self.noCatalogs(in: folder, "there is no *.json5 file") }
        var files: [(name: String, bytes: [UInt8])] = []
        var faults: [String] = []
        for name in names {
            let path = URL(fileURLWithPath: folder).appendingPathComponent(name)
            if let content = try? Data(contentsOf: path) {
                files.append((name, [UInt8](content)))
            } else {
                faults.append("\(name): cannot be read; make it a file that can be read, or take it away")
            }
        }
        switch CatalogSet.load(files: files, hasZone: hasZone) {
        case .success(let catalogs) where faults.isEmpty: return catalogs
        case .success: break
        case .failure(let found): faults += found.faults.map(\.description)
        }
        throw CatalogFailure(folder: folder, faults: faults)
    }

    /// Whether this machine has a zone.
    ///
    /// Without a tz database, a machine cannot distinguish a typo from a zone. Workers do not start there, but commands
    /// that only publish may run.
    private var hasZone: (TimeZoneName) -> Bool {
        let zones = ZoneLibrary(environment: ProcessInfo.processInfo.environment)
        return { zones.isThere ? zones[$0] != nil : true }
    }

    private static func noCatalogs(in folder: String, _ cameBack: String) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: "reading the catalogues in \(folder)",
            cameBack: cameBack,
            whatToDo: "point \(Setting.catalogs.environmentName) at a folder of catalogues, such as deploy/catalogs"
        )
    }
}

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

    /// The number of faults and the first of them, in one line.
    package var summary: String {
        let first = faults.first ?? "unknown"
        return faults.count == 1
            ? "the catalogues in \(folder) have a fault: \(first)"
            : "the catalogues in \(folder) have \(faults.count) faults, the first: \(first)"
    }
}
