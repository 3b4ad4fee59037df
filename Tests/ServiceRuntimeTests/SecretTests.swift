import ServiceRuntime
import Testing

@Suite("Secrets")
struct SecretTests {
    private static let canary = "hunter2-canary"

    @Test("no printed form of a secret contains it")
    func redaction() {
        struct Holder {
            let secret = Secret(SecretTests.canary)
            let optional: Secret? = Secret(SecretTests.canary)
        }
        var dumped = ""
        dump(Holder(), to: &dumped)
        let secret = Secret(Self.canary)
        let texts = [
            "\(secret)", String(reflecting: secret), "\(Holder())", String(reflecting: Holder()), dumped,
            String(describing: Optional(secret)), "\([secret])", "\(["k": secret])",
        ]
        #expect(texts.allSatisfy { !$0.contains(Self.canary) })
        #expect("\(secret)" == "<redacted>")
        #expect(secret.revealed == Self.canary)
    }

    @Test(
        "a URL is shown without its passwords",
        arguments: [
            ("amqp://user:pw@host:5672/vhost", "amqp://user:***@host:5672/vhost"),
            ("amqp://host/vhost", "amqp://host/vhost"),
            ("postgres://bellhop@127.0.0.1:5432/db", "postgres://bellhop@127.0.0.1:5432/db"),
            ("postgres://u:p@a:1,b:2/db?sslmode=require", "postgres://u:***@a:1,b:2/db?sslmode=require"),
            ("postgres://u@h/db?password=pw&sslmode=require", "postgres://u@h/db?password=***&sslmode=require"),
            ("postgres://u:p@h/db?sslpassword=x", "postgres://u:***@h/db?sslpassword=***"),
            ("amqp://:pw@host", "amqp://:***@host"), ("amqp://u:p@ss/w?rd@host", "amqp://u:***@host"),
            ("nothing but a secret", "***"), ("u:pw@host://x", "***"), ("", "***"),
        ]
    )
    func masking(url: String, expected: String) {
        #expect(URLMask.mask(url) == expected)
        #expect(URLMask.mask(url) == expected)
    }
}
