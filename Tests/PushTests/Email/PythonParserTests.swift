import BellhopRules
import Foundation
import HTTPTransfer
import TestSupport
import Testing

@testable import Push

/// A mail as Python's parser reads it, which shares no code with the writer.
private struct Parsed: Decodable {
    let subject: String
    let fromName: String
    let fromAddress: String
    let to: [String]
    let messageID: String
    let date: String
    let unsubscribe: String
    let types: [String]
    let text: String
    let html: String
    let headers: Int
    let defects: [String]
}

extension Parsed {
    static func read(_ mails: [[UInt8]]) async throws -> [Parsed] {
        let folder = try TemporaryFolder()
        let files = try mails.enumerated().map { try folder.write("\($0).eml", $1) }
        let output = try await PythonScript.output(of: "mail_reader.py", arguments: files)
        return try JSONDecoder().decode([Parsed].self, from: Data(output.utf8))
    }
}

@Suite(
    "Mails in another parser",
    .limitedConcurrency,
    .enabled(
        if: PythonScript.isThere,
        "python3 with its email package is not installed: nothing independent reads the mails"
    ),
    .timeLimit(.ofTest)
)
struct PythonParserTests {
    private static let sentAt: Int64 = 1_771_163_100

    /// Returns the first line that differs, as it was read and as it was meant.
    private static func difference(_ read: String, _ meant: [String]) -> [String]? {
        let lines = read.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        // The last line end belongs to the boundary behind it.
        if let pair = zip(lines, meant).first(where: { !$0.utf8.elementsEqual($1.utf8) }) { return [pair.0, pair.1] }
        return lines.count == meant.count ? nil : ["\(lines.count) lines", "\(meant.count) lines"]
    }

    private func check(_ messages: [EmailMessage], _ letterhead: EmailBranding) async throws {
        let mails = try messages.map { message in
            try #require(EmailBuilder.mail(message, letterhead, secondsSince1970: Self.sentAt)).content
        }
        let parsed = try await Parsed.read(mails)
        try #require(parsed.count == messages.count)
        for (message, mail) in zip(messages, parsed) {
            let content = EmailContent(message, letterhead)
            #expect(mail.defects == [])
            #expect(mail.subject == content.title)
            #expect(mail.fromName == letterhead.from.name && mail.fromAddress == letterhead.from.address)
            #expect(mail.to == [message.address.text])
            #expect(mail.messageID == EmailBuilder.messageID(of: message, letterhead))
            #expect(mail.date == "2026-02-15T13:45:00+00:00")
            #expect(mail.unsubscribe == "<\(content.unsubscribeLink)>")
            #expect(mail.types == ["multipart/alternative", "text/plain", "text/html"])
            #expect(mail.headers == 11)
            #expect(Self.difference(mail.text, content.plainLines) == nil)
            #expect(Self.difference(mail.html, EmailHTML(content: content).lines) == nil)
        }
    }

    @Test(
        "ordinary mails are read with the intended content",
        arguments: [
            "Drøp <no-reply@drop.example>", "no-reply@drop.example", #""Drop, \ "Inc"" <a.b+c@mail.drop.example>"#,
            "A name that is much longer than what fits on one line of the head of a mail <x@drop.example>",
        ]
    )
    func ordinary(_ from: String) async throws {
        let messages = try [
            Mails.message(), Mails.message("Hello", "", language: "en"),
            Mails.message("Å" + String(repeating: " lang tittel 👍🏽", count: 30), "…", language: "nb"),
            Mails.message("=?utf-8?Q?not=20mine?=", "Text = text\n.\n..\nFrom me", language: "ar"),
        ]
        try await check(messages, try Mails.letterhead(from: from))
    }

    @Test("hostile mails are read with the intended content")
    func hostile() async throws {
        var generator = SeededChance.announced("mails for another parser")
        let messages = try (0..<SeededChance.rounds(200)).map { index in
            try RandomMail.message(notification: UInt64(index), using: &generator)
        }
        try await check(messages, try Mails.letterhead())
    }
}
