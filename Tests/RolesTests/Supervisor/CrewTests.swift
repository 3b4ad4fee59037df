import Testing

@testable import Roles

@Suite("Settings for the pool's processes")
struct CrewTests {
    @Test("a secret on the command line reaches a child through its environment and precedes a named file")
    func secrets() {
        let settings = ["database-url": "postgres://b:secret@db/x", "amqp-url-file": "/run/amqp", "batch": "7"]
        let environment = [
            "BELLHOP_DATABASE_URL_FILE": "/run/database", "BELLHOP_AMQP_URL": "amqp://a", "PATH": "/bin",
        ]
        let handed = Crew.handed(settings, environment)
        #expect(handed.flags == ["--amqp-url-file=/run/amqp", "--batch=7"])
        #expect(
            handed.environment == [
                "BELLHOP_DATABASE_URL": "postgres://b:secret@db/x", "BELLHOP_AMQP_URL": "amqp://a", "PATH": "/bin",
            ]
        )
    }
}
