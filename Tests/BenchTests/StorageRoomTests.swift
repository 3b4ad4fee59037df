import ServiceRuntime
import Testing

@testable import Bench

@Suite("Room for stored notifications")
struct StorageRoomTests {
    @Test("notifications that would fill the database's disk are refused before they are stored")
    func refusesTooMany() throws {
        try StorageRoom(notifications: 0, free: 0).require()
        let small = StorageRoom(notifications: 1_000, free: 10_000_000_000)
        try small.require()
        #expect(small.words == "about 0.0 GB, 10.0 GB free")
        let large = StorageRoom(notifications: 10_000_000, free: 10_000_000_000)
        let failure = #expect(throws: CommandFailure.self) { try large.require() }
        #expect(failure?.cameBack.contains("16.0 GB") == true)
        let unseen = StorageRoom(notifications: 10_000_000, free: nil)
        try unseen.require()
        #expect(unseen.words.contains("not visible"))
    }
}
