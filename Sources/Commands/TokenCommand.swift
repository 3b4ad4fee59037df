import API
import BellhopRules
import CLI
import Cryptography
import ServiceRuntime

/// The command `bellhop token`, which signs in a user of the inbox API without an app's sign-in.
enum TokenCommand: Command {
    static let name = "token"
    static let summary = "Issues a bearer token for the inbox API, for development."
    static let synopsis = ["token --key FILE --app APP --user USER [--valid SPAN]"]
    static let options = [
        Option.taking("key", "FILE", "the private key, as bellhop keys tokens makes it"),
        Option.taking("app", "APP", "the app"),
        Option.taking("user", "USER", "whom it speaks for"),
        Option.taking("valid", "SPAN", "for how long, 1s to 365d; 12h unless given"),
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let path = try call.words.required("key", "the path of a file") { $0.isEmpty ? nil : $0 }
        let app: AppID = try call.words.required("app")
        let user: UserID = try call.words.required("user")
        let span = try call.words.optional("valid", "a span from 1s to 365d, such as 12h") { text in
            Duration(text: text).flatMap { (.seconds(1) ... .seconds(365 * 86_400)).contains($0) ? $0 : nil }
        }
        let configuration = try call.setup(reading: []).configuration
        let now = SystemTime().now()
        let terms = TokenIssuer.Terms(
            audience: configuration.jwtAudience,
            issuer: configuration.jwtIssuer,
            issuedAt: Timestamp(clamping: now.microseconds),
            expiresAt: Timestamp(clamping: (now + (span ?? .seconds(12 * 3_600))).microseconds)
        )
        call.shell.print(try token(path, app, user, terms))
        return .done
    }

    private static func token(
        _ path: String,
        _ app: AppID,
        _ user: UserID,
        _ terms: TokenIssuer.Terms
    ) throws(CommandFailure) -> String {
        let cameBack: String
        switch SmallFile.read(path, atMost: 1 << 16) {
        case .failure(let problem): cameBack = "it \(problem.text)"
        case .success(let pem):
            do throws(CryptographyError) {
                return try TokenIssuer(key: PrivateKey(pem: pem)).token(app: app, user: user, terms)
            } catch {
                cameBack = error.text
            }
        }
        throw CommandFailure(
            .configuration,
            attempted: "signing with the key in \(path)",
            cameBack: cameBack,
            whatToDo: "make one with bellhop keys tokens --out FILE --set FILE"
        )
    }
}
