import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// Speaks SMTP with the mail server through Python's library, which allows a client to break the protocol.
private enum Dialogue {
    /// A step: `say` a command, `raw` bytes, `starttls`, or `login` with user and password.
    typealias Step = [String]

    /// Returns the codes of the replies.
    ///
    /// A code is 0 if the server closed the connection instead.
    static func codes(_ steps: [Step], with sandbox: ProviderSandbox) async throws -> [Int] {
        let address = sandbox.smtpAddress
        let text = String(decoding: try JSONEncoder().encode(steps), as: UTF8.self)
        let arguments = [address.host, "\(address.port)", sandbox.caFile, text]
        let output = try await PythonScript.output(of: "mail_client.py", arguments: arguments)
        return try JSONDecoder().decode([Int].self, from: Data(output.utf8))
    }
}

@Suite(
    "The dialogue with the mail server",
    .limitedConcurrency,
    .enabled(if: PythonScript.isThere, "python3 is not installed: nobody can speak wrongly with the server"),
    .timeLimit(.ofTest)
)
struct SMTPSessionTests {
    private static let inTLS = [["say", "EHLO t"], ["starttls"], ["say", "EHLO t"]]
    private static let signedIn = inTLS + [["login", "bellhop", "sandbox-password"]]
    private static let named = signedIn + [["say", "MAIL FROM:<a@b>"], ["say", "RCPT TO:<c@d>"]]
    private static let long = String(repeating: "x", count: 600)

    private typealias Case = (steps: [[String]], code: Int)

    private static func after(_ opening: [[String]], _ steps: [[String]], _ code: Int) -> Case {
        (opening + steps, code)
    }

    private static let refusals: [Case] = [
        after([], [["say", "MAIL FROM:<a@b>"]], 503),
        after([], [["say", "EHLO t"], ["say", "MAIL FROM:<a@b>"]], 530),
        after([], [["say", "EHLO"]], 501), after([], [["say", "FROB"]], 500),
        after([], [["say", "NOOP " + long]], 500),
        after([], [["raw", "NOOP\n"]], 500),
        after([], [["raw", "NO\rOP\r\n"]], 500), after([], [["raw", "NOOP \u{E6}\r\n"]], 500),
        after([], [["say", "STARTTLS"]], 503),
        after([], [["say", "EHLO t"], ["say", "AUTH PLAIN AGEAYg=="]], 538), after(inTLS, [["say", "STARTTLS"]], 503),
        after(inTLS, [["say", "MAIL FROM:<a@b>"]], 530), after(inTLS, [["say", "AUTH CRAM-MD5"]], 504),
        after(inTLS, [["say", "AUTH PLAIN AGEAYg=="]], 535), after(inTLS, [["say", "AUTH PLAIN ???"]], 535),
        after(signedIn, [["say", "RCPT TO:<c@d>"]], 503), after(signedIn, [["say", "DATA"]], 503),
        after(signedIn, [["say", "MAIL FROM:a@b"]], 501), after(signedIn, [["say", "MAIL FROM:<ab>"]], 501),
        after(signedIn, [["say", "MAIL FROM:<a@b> BODY=8BITMIME"]], 555),
        after(signedIn, [["say", "MAIL FROM:<a@b> SMTPUTF8"]], 555),
        after(signedIn, [["say", "MAIL FROM:<a@b> SIZE=99999999"]], 552),
        after(signedIn, [["say", "MAIL FROM:<a@b>"], ["say", "MAIL FROM:<a@b>"]], 503),
        after(named, [["say", "RCPT TO:<>"]], 501), after(named, [["say", "DATA now"]], 503),
        after(named, [["say", "DATA"], ["raw", "Subject: x\n.\r\n"]], 554),
        after(named, [["say", "DATA"], ["raw", ".not doubled\r\n.\r\n"]], 554),
        after(named, [["say", "DATA"], ["raw", long + long + "\r\n.\r\n"]], 554),
        after(named, [["say", "DATA"], ["raw", "Subject: only\r\n\r\n.\r\n"]], 554),
    ]

    @Test("an invalid or misplaced command is rejected and recorded as such", arguments: refusals)
    func refuses(_ steps: [[String]], _ code: Int) async throws {
        try await withSandbox { client in
            let codes = try await Dialogue.codes(steps, with: client.sandbox)
            #expect(codes.last == code, "\(codes)")
            #expect(codes.dropLast().allSatisfy { $0 < 400 }, "\(codes)")
            let received = try #require(client.sandbox.received(.email).last)
            #expect(received.answer?.status == code)
            #expect(received.refused != nil || code == 535)
        }
    }

    @Test("RSET discards the mail, NOOP changes nothing, and QUIT ends the connection")
    func forgets() async throws {
        try await withSandbox { client in
            let steps =
                Self.named + [
                    ["say", "RSET"], ["say", "RCPT TO:<c@d>"], ["say", "NOOP"], ["say", "QUIT"], ["say", "NOOP"],
                ]
            let codes = try await Dialogue.codes(steps, with: client.sandbox)
            #expect(codes.suffix(5) == [250, 503, 250, 221, 0])
        }
    }

    @Test("a client can also sign in with AUTH LOGIN")
    func login() async throws {
        try await withSandbox { client in
            let steps =
                Self.inTLS + [["say", "AUTH LOGIN"], ["say", "YmVsbGhvcA=="], ["say", "c2FuZGJveC1wYXNzd29yZA=="]]
            let codes = try await Dialogue.codes(steps, with: client.sandbox)
            #expect(codes.suffix(3) == [334, 334, 235])
        }
    }

    @Test("plain text after STARTTLS ends the connection")
    func smuggled() async throws {
        try await withSandbox { client in
            let steps = [["say", "EHLO t"], ["raw", "STARTTLS\r\nMAIL FROM:<a@b>\r\n"], ["say", "NOOP"]]
            let codes = try await Dialogue.codes(steps, with: client.sandbox)
            #expect(codes == [250, 503, 0])
        }
    }
}
