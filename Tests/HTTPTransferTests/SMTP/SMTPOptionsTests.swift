import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@Suite("Opening a mail transport", .limitedConcurrency, .timeLimit(.ofTest))
struct SMTPOptionsTests {
    private func options(_ change: (inout SMTPTransportOptions) -> Void = { _ in }) -> SMTPTransportOptions {
        // No server listens on port 9, which is reserved for discard.
        var options = SMTPTransportOptions(
            name: "smtp-test",
            server: ListenAddress(host: "127.0.0.1", port: 9),
            encryption: .startTLS,
            ownName: "drop.example"
        )
        change(&options)
        return options
    }

    private static let mail = OutgoingMail(
        from: "a@b.example",
        to: "c@d.example",
        content: Array("X: y\r\n\r\nz\r\n".utf8)
    )

    @Test("unusable settings are rejected when the transport is created")
    func refuses() {
        let wrong: [(inout SMTPTransportOptions) -> Void] = [
            { $0.connections = 0 }, { $0.connections = 65 }, { $0.ownName = "" }, { $0.ownName = "a/b" },
            { $0.server = ListenAddress(host: "a b", port: 25) }, { $0.closeGrace = .seconds(-1) },
            { $0.login = .init(user: "a\r\nb", password: Secret("x")) }, { $0.authoritiesFile = "/nonexistent/ca.pem" },
        ]
        for change in wrong {
            #expect(throws: TransferError.self) { try SMTPTransport(options(change)) }
        }
    }

    @Test("a password never appears in the text of the options")
    func masks() {
        let options = options { $0.login = .init(user: "kari", password: Secret("hush")) }
        #expect(!"\(options)".contains("hush"))
    }

    @Test("a mail to an unreachable server was not sent, and the error names the server but no recipient")
    func nobodyThere() async throws {
        let transport = try SMTPTransport(options())
        let outcome = try #require(await transport.send([Self.mail]).first)
        await transport.close()
        guard case .notSent(let error) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(error.code == .connect)
        #expect(error.text.contains("127.0.0.1:9") && !error.text.contains("c@d"))
    }

    @Test("a server without STARTTLS gets neither mail nor password")
    func noEncryption() async throws {
        let server = try RawServer { connection in
            connection.send("220 hi\r\n250-hi\r\n250 AUTH PLAIN\r\n")
            connection.waitForPeerToClose()
        }
        defer { server.stop() }
        let address = ListenAddress(host: "127.0.0.1", port: server.port)
        let transport = try SMTPTransport(
            options {
                $0.server = address
                $0.login = .init(user: "kari", password: Secret("hush"))
            }
        )
        let outcome = await transport.send([Self.mail]).first
        await transport.close()
        #expect(outcome == .unsuitable(.encryption))
    }

    @Test(
        "a mail that could inject another one is rejected before anything is sent",
        arguments: [
            ("a@b", "c@d", "x\n"), ("a@b", "c@d", "x\ry\r\n"), ("a@b", "c@d", "x\r\n.\n"), ("a@b", "c@d", "x"),
            ("a@b", "c@d", ""),
            ("a@b", "c@d>\r\nRCPT TO:<e@f", "x\r\n"), ("a@b c", "c@d", "x\r\n"), ("", "c@d", "x\r\n"),
            ("a@b", "<c@d>", "x\r\n"),
            ("a@b", "c@d", "x\r"),
        ]
    )
    func smuggling(_ sender: String, _ recipient: String, _ content: String) async throws {
        let transport = try SMTPTransport(options())
        let mail = OutgoingMail(from: sender, to: recipient, content: Array(content.utf8))
        let outcome = try #require(await transport.send([mail]).first)
        await transport.close()
        guard case .notSent(let error) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(error.code == .invalidRequest)
    }

    @Test("a closed transport sends nothing and may be closed again")
    func closed() async throws {
        let transport = try SMTPTransport(options())
        await transport.close()
        await transport.close()
        let outcome = try #require(await transport.send([Self.mail]).first)
        guard case .notSent(let error) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(error.code == .closed)
        #expect(await transport.send([]).isEmpty)
    }
}
