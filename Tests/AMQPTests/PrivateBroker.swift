import Foundation
import Synchronization
import TestSupport

@testable import AMQP

/// A RabbitMQ that the tests start, for actions that a shared one does not allow: alarms, and TLS with test
/// authorities.
///
/// It runs under a shell that waits for the end of its input, which comes when the test process ends for any reason.
/// The shell then ends the broker and the port mapper that it started.
final class PrivateBroker: Sendable {
    static let server = "/usr/lib/rabbitmq/bin/rabbitmq-server"
    static let isPossible =
        Servers.mayBeStarted && FileManager.default.isExecutableFile(atPath: server) && Certificates.isPossible
    static let absence = "needs \(server) and the openssl command to start a broker of its own"

    /// Returns the one broker of this test run, which starts on first use.
    static func shared() async throws -> PrivateBroker {
        try await start.value
    }

    private static let start = Task { try await PrivateBroker() }

    let certificates: Certificates
    let port: Int
    let tlsPort: Int
    private let environment: [String: String]
    private let leash: Pipe
    private let admitted = Mutex<Set<String>>([])

    private init() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("broker"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificates = try Certificates(in: folder)
        let ports = try Self.freePorts(4)
        (port, tlsPort) = (ports[0], ports[1])
        let configuration = folder.appendingPathComponent("rabbitmq.conf")
        try Self.configuration(tlsPort: tlsPort, certificates).write(
            to: configuration,
            atomically: true,
            encoding: .utf8
        )
        environment = [
            "PATH": "/usr/lib/rabbitmq/bin:/usr/bin:/bin",
            "HOME": folder.path,
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": "bellhop\(port)@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": String(port),
            "RABBITMQ_DIST_PORT": String(ports[2]),
            "RABBITMQ_MNESIA_BASE": folder.appendingPathComponent("mnesia").path,
            "RABBITMQ_LOG_BASE": folder.appendingPathComponent("log").path,
            "RABBITMQ_PID_FILE": folder.appendingPathComponent("pid").path,
            "RABBITMQ_CONFIG_FILE": configuration.path,
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": folder.appendingPathComponent("plugins").path,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": String(ports[3]),
            "FOLDER": folder.path,
        ]
        leash = try Self.launch(environment)
        let files =
            "cacertfile=\(certificates.authority)&certfile=\(certificates.client)&keyfile=\(certificates.clientKey)"
        // The TLS listener starts after the other one.
        for url in ["amqp://127.0.0.1:\(port)", "amqps://localhost:\(tlsPort)?\(files)"] {
            let address = try BrokerAddress(validating: url)
            try await eventually("the private broker is up") {
                (try? await BrokerSession.with(address, name: "test") { try $0.checkExchange("amq.direct") }) == true
            }
        }
    }

    /// Raises or clears the memory alarm: the broker accepts no messages, or accepts them again.
    func setMemoryAlarm(_ on: Bool) async throws {
        try await control(["set_vm_memory_high_watermark"] + (on ? ["absolute", "1"] : ["0.6"]))
    }

    /// Sets the size limit of bodies for channels that are opened from now on.
    func setLargestBody(_ bytes: Int) async throws {
        try await control([
            // RabbitMQ 4 reads the limit from its persistent terms.
            "eval",
            "application:set_env(rabbit, max_message_size, \(bytes)), persistent_term:put(max_message_size, \(bytes)).",
        ])
    }

    /// Creates a user with these permissions, or changes an existing user's permissions.
    func admit(_ user: String, configure: String, write: String, read: String) async throws {
        if admitted.withLock({ $0.insert(user).inserted }) { try await control(["add_user", user, "secret"]) }
        try await control(["set_permissions", user, configure, write, read])
    }

    private func control(_ arguments: [String]) async throws {
        let environment = self.environment
        let status: Int32 = try await withCheckedThrowingContinuation { answer in
            Thread.detachNewThread {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/usr/lib/rabbitmq/bin/rabbitmqctl")
                process.arguments = ["-n", environment["RABBITMQ_NODENAME"] ?? ""] + arguments
                process.environment = environment
                process.standardOutput = FileHandle.nullDevice
                answer.resume(
                    with: Result {
                        try process.run()
                        process.waitUntilExit()
                        return process.terminationStatus
                    }
                )
            }
        }
        guard status == 0 else { throw Unexpected("rabbitmqctl \(arguments): \(status)") }
    }

    /// The broker is killed, because milder signals are blocked: a shell passes its parent's signal mask on to its
    /// children.
    private static func launch(_ environment: [String: String]) throws -> Pipe {
        let script = """
            \(server) >"$FOLDER/out" 2>&1 </dev/null &
            broker=$!
            cat >/dev/null
            kill -KILL "$(cat "$RABBITMQ_PID_FILE")" "$broker" 2>/dev/null
            wait "$broker"
            sleep 1
            epmd -port "$ERL_EPMD_PORT" -kill >/dev/null 2>&1
            rm -rf "$FOLDER"
            """
        let leash = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        process.environment = environment
        process.standardInput = leash
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return leash
    }

    private static func configuration(tlsPort: Int, _ certificates: Certificates) -> String {
        """
        listeners.ssl.default = 127.0.0.1:\(tlsPort)
        ssl_options.cacertfile = \(certificates.authority)
        ssl_options.certfile = \(certificates.server)
        ssl_options.keyfile = \(certificates.serverKey)
        ssl_options.verify = verify_peer
        ssl_options.fail_if_no_peer_cert = true
        ssl_options.versions.1 = tlsv1.3
        ssl_options.versions.2 = tlsv1.2
        """
    }

    /// Returns ports that were free a moment ago.
    static func freePorts(_ count: Int) throws -> [Int] {
        let proxies = try (0..<count).map { _ in try TCPProxy(to: "127.0.0.1", 1) }
        defer { for proxy in proxies { proxy.stop() } }
        return proxies.map(\.port)
    }
}

/// Two unrelated authorities, a server's certificate for "localhost" and 127.0.0.1, and a client's certificate.
struct Certificates: Sendable {
    static let isPossible = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    let authority: String
    let strangeAuthority: String
    let server: String
    let serverKey: String
    let client: String
    let clientKey: String
    /// A server's certificate with the subject "localhost" and no alternative names.
    let named: String
    let namedKey: String

    init(in folder: URL) throws {
        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
        authority = path("ca.pem")
        strangeAuthority = path("strange.pem")
        (server, serverKey) = (path("server.pem"), path("server.key"))
        (client, clientKey) = (path("client.pem"), path("client.key"))
        (named, namedKey) = (path("localhost.pem"), path("localhost.key"))
        let script = """
            set -e
            for name in ca strange; do
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
                    -subj "/CN=Bellhop test $name" -keyout $name.key -out $name.pem
            done
            sign() {
                openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout $1.key -out $1.csr
                printf '%s\\n' "$2" >$1.ext
                openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial \
                    -days 2 -extfile $1.ext -out $1.pem
            }
            sign server 'subjectAltName=DNS:localhost,IP:127.0.0.1'
            sign client 'extendedKeyUsage=clientAuth'
            sign localhost 'extendedKeyUsage=serverAuth'
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Unexpected("openssl: \(process.terminationStatus)") }
    }
}
