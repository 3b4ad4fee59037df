import Foundation
import ServiceRuntime

/// The room on the database's disk for notifications that are stored before a measurement.
struct StorageRoom: Sendable {
    let notifications: Int
    /// The free bytes, or `nil` if the disk is not visible from here.
    let free: Int?

    /// The bytes of a stored notification with its delivery and all indexes, rounded up.
    private static let bytesPerNotification = 1_000
    /// The same for the server's log, whose files are removed after a checkpoint.
    private static let logBytesPerNotification = 3_000
    /// The room for the log at most, since the server then makes a checkpoint.
    private static let mostLogBytes = 6_000_000_000

    /// The required bytes.
    var needed: Int { rowBytes + min(notifications * Self.logBytesPerNotification, Self.mostLogBytes) }

    private var rowBytes: Int { notifications * Self.bytesPerNotification }

    /// The size in words, for the progress.
    var words: String {
        let free = free.map { "\($0.gigabytes) free" } ?? "the database's disk is not visible from here"
        return "about \(rowBytes.gigabytes), \(free)"
    }

    /// Throws if the rows would fill the disk.
    func require() throws(CommandFailure) {
        guard let free, free < needed else { return }
        throw CommandFailure(
            .tryAgain,
            attempted: "storing \(notifications) notifications",
            cameBack:
                "they may take \(needed.gigabytes) with the log, and the database's disk has \(free.gigabytes) free",
            whatToDo: "store fewer, or free space"
        )
    }
}

extension StorageRoom {
    /// Reads the free space if the server runs on this machine and this user may see the folder of its data.
    init(for notifications: Int, on testbed: Testbed) async throws {
        self.notifications = notifications
        guard try await testbed.databaseProcess() != nil, let folder = try await testbed.server.dataFolder() else {
            free = nil
            return
        }
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder)
        free = (attributes?[.systemFreeSize] as? NSNumber)?.intValue
    }
}

extension Int {
    /// The size as `12.3 GB`.
    fileprivate var gigabytes: String { (Double(self) / 1e9).text(digits: 1) + " GB" }
}
