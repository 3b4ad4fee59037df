// swift-tools-version: 6.0
import PackageDescription

// Interfaces between targets are `package`; only BellhopRules and the JSON that it exports again are `public`. Imports
// stay inside the file unless an interface needs them.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Takes the place of the C library's malloc: a worker allocates in some threads and frees in others.
///
/// A sanitizer has its own allocator; `deploy/test --sanitize` sets the variable.
let allocator: [LinkerSetting] =
    Context.environment["BELLHOP_SANITIZE"] == nil
    ? [.linkedLibrary("jemalloc", .when(platforms: [.linux]))]
    : []

/// Swift's libraries are not instrumented; this target tells the thread sanitizer where they synchronise threads.
let seesThreads = Context.environment["BELLHOP_SANITIZE"] == "thread"
let annotations: [Target.Dependency] = seesThreads ? ["ThreadSanitizer"] : []
let annotating: [Target] =
    seesThreads
    ? [.target(name: "ThreadSanitizer", path: "Tests/ThreadSanitizer", publicHeadersPath: ".")]
    : []

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.byName(name: name), "TestSupport"] + dependencies,
        swiftSettings: settings
    )
}

let package = Package(
    name: "bellhop",
    products: [
        .library(name: "BellhopRules", targets: ["BellhopRules"]),
        .executable(name: "bellhop", targets: ["bellhop"]),
    ],
    targets: [
        .systemLibrary(name: "CRabbitMQ", pkgConfig: "librabbitmq", providers: [.apt(["librabbitmq-dev"])]),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // valgrind, which counts a worker's instructions, cannot read newer debug information.
        .target(name: "CAllocator", cSettings: [.unsafeFlags(["-gdwarf-4"])]),

        library("BellhopJSON"),
        library("ServiceRuntime", ["CLinux"]),
        library("Cryptography", ["COpenSSL"]),
        library("Compression", ["CZlib"]),
        library("AMQP", ["CRabbitMQ", "Cryptography", "ServiceRuntime"]),
        library("Postgres", ["CPostgreSQL", "ServiceRuntime"]),
        library("TLS", ["COpenSSL", "Cryptography", "ServiceRuntime"]),
        library("HTTPTransfer", ["CCurl", "CNGHTTP2", "TLS", "ServiceRuntime"]),
        library("HTTPServer", ["CMicroHTTPD", "Compression", "Cryptography", "ServiceRuntime"]),
        library("BellhopRules", ["BellhopJSON"]),
        library("Settings", ["BellhopRules", "BellhopJSON", "ServiceRuntime"]),
        library(
            "Tracing",
            ["HTTPTransfer", "Cryptography", "Settings", "BellhopRules", "BellhopJSON", "ServiceRuntime"]
        ),
        library("Publishing", ["AMQP", "BellhopRules"]),
        library("Push", ["HTTPTransfer", "Compression", "Cryptography", "BellhopRules", "ServiceRuntime"]),
        .target(
            name: "Store",
            dependencies: ["Postgres", "Cryptography", "Settings", "BellhopRules", "ServiceRuntime"],
            resources: [.embedInCode("sql")],
            swiftSettings: settings
        ),
        library(
            "Pipeline",
            [
                "AMQP", "Store", "Push", "Tracing", "Cryptography", "Settings", "BellhopRules",
                "ServiceRuntime",
            ]
        ),
        .target(
            name: "API",
            dependencies: [
                "HTTPServer", "HTTPTransfer", "Publishing", "Store", "Push", "Postgres", "Tracing", "Cryptography",
                "Settings",
                "BellhopJSON", "BellhopRules", "ServiceRuntime",
            ],
            resources: [.embedInCode("WebAssets/assets")],
            swiftSettings: settings
        ),
        library(
            "Operations",
            [
                "Pipeline", "Store", "Push", "AMQP", "HTTPTransfer", "Settings", "BellhopJSON", "BellhopRules",
                "ServiceRuntime",
            ]
        ),
        .target(
            name: "Console",
            dependencies: [
                "Operations", "HTTPServer", "Store", "Cryptography", "Settings", "BellhopJSON", "BellhopRules",
                "ServiceRuntime",
            ],
            resources: [.embedInCode("WebAssets/assets")],
            swiftSettings: settings
        ),
        library("CLI", ["Cryptography", "Settings", "BellhopJSON", "BellhopRules", "ServiceRuntime"]),
        library(
            "Roles",
            [
                "CLI", "API", "Console", "Operations", "Pipeline", "Publishing", "Store", "Push", "Tracing", "AMQP",
                "Postgres", "HTTPServer", "Settings", "BellhopJSON", "BellhopRules", "ServiceRuntime",
            ]
        ),
        library(
            "Commands",
            [
                "Roles", "CLI", "API", "Console", "Operations", "Pipeline", "Publishing", "Store", "Push", "Tracing",
                "AMQP", "Postgres", "Cryptography", "Settings", "BellhopJSON", "BellhopRules", "ServiceRuntime",
            ]
        ),
        library(
            "Sandbox",
            [
                "CLI", "CLinux", "CNGHTTP2", "COpenSSL", "TLS", "HTTPServer", "Compression", "Cryptography",
                "BellhopRules", "ServiceRuntime",
            ]
        ),
        library(
            "Bench",
            [
                "Roles", "CLI", "API", "Operations", "Pipeline", "Store", "Push", "AMQP", "Postgres", "HTTPTransfer",
                "Cryptography",
                "Settings", "BellhopRules", "ServiceRuntime",
            ]
        ),
        .executableTarget(
            name: "bellhop",
            dependencies: [
                "Commands", "Sandbox", "Bench", "CLI", "Cryptography", "ServiceRuntime", "CAllocator",
            ] + annotations,
            swiftSettings: settings,
            linkerSettings: allocator
        ),

        .target(
            name: "TestSupport",
            dependencies: ["BellhopJSON", "ServiceRuntime", "TLS"] + annotations,
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "IntegrationSupport",
            dependencies: [
                "TestSupport", "API", "AMQP", "BellhopJSON", "Compression", "Cryptography", "HTTPServer", "Postgres",
                "Store", "Push",
                "Pipeline",
                "Tracing", "Sandbox", "Settings", "BellhopRules", "ServiceRuntime",
            ],
            path: "Tests/IntegrationSupport",
            swiftSettings: settings
        ),
        .target(
            name: "CommandLineSupport",
            dependencies: [
                "IntegrationSupport", "TestSupport", "Commands", "Sandbox", "Bench", "CLI", "ServiceRuntime",
            ],
            path: "Tests/CommandLineSupport",
            swiftSettings: settings
        ),
        tests(of: "BellhopJSON"),
        tests(of: "ServiceRuntime"),
        tests(of: "Cryptography"),
        tests(of: "Compression"),
        tests(of: "AMQP", ["CRabbitMQ", "ServiceRuntime"]),
        tests(of: "Postgres", ["ServiceRuntime"]),
        tests(of: "TLS", ["COpenSSL", "Sandbox", "ServiceRuntime"]),
        tests(of: "HTTPTransfer", ["CNGHTTP2", "TLS", "ServiceRuntime"]),
        tests(of: "HTTPServer", ["ServiceRuntime"]),
        tests(of: "BellhopRules"),
        tests(of: "Settings", ["BellhopRules", "ServiceRuntime"]),
        tests(of: "Publishing", ["AMQP", "BellhopRules"]),
        tests(
            of: "Push",
            ["Sandbox", "HTTPTransfer", "Compression", "Cryptography", "BellhopRules", "ServiceRuntime"]
        ),
        tests(of: "Tracing", ["HTTPServer", "Settings", "BellhopJSON", "BellhopRules", "ServiceRuntime"]),
        tests(
            of: "Store",
            ["IntegrationSupport", "Cryptography", "Postgres", "Settings", "BellhopRules", "ServiceRuntime"]
        ),
        tests(
            of: "Pipeline",
            [
                "IntegrationSupport", "AMQP", "HTTPServer", "Postgres", "Publishing", "Store", "Push", "Tracing",
                "Sandbox",
                "Settings", "BellhopRules", "ServiceRuntime",
            ]
        ),
        tests(
            of: "Sandbox",
            [
                "CommandLineSupport", "CLI", "Push", "HTTPTransfer", "HTTPServer", "TLS", "Compression",
                "Cryptography", "BellhopRules", "ServiceRuntime",
            ]
        ),
        tests(
            of: "API",
            [
                "IntegrationSupport", "AMQP", "HTTPServer", "HTTPTransfer", "Postgres", "Publishing", "Store",
                "Pipeline",
                "Push", "Sandbox",
                "Tracing", "Compression", "Cryptography", "Settings", "BellhopJSON", "BellhopRules", "ServiceRuntime",
            ]
        ),
        tests(
            of: "Operations",
            [
                "CommandLineSupport", "IntegrationSupport", "Pipeline", "AMQP", "HTTPServer", "Postgres", "Store",
                "Settings", "BellhopRules", "ServiceRuntime",
            ]
        ),
        tests(
            of: "CLI",
            ["CommandLineSupport", "IntegrationSupport", "Pipeline", "Store", "Settings", "ServiceRuntime"]
        ),
        tests(
            of: "Roles",
            ["AMQP", "CommandLineSupport", "IntegrationSupport", "Postgres", "Store", "BellhopRules", "ServiceRuntime"]
        ),
        tests(
            of: "Commands",
            [
                "CommandLineSupport", "CLI", "Operations", "API", "IntegrationSupport", "AMQP", "Postgres", "Store",
                "Pipeline", "Push", "Sandbox", "Cryptography", "Settings", "BellhopRules", "ServiceRuntime",
            ]
        ),
        tests(
            of: "Bench",
            ["CommandLineSupport", "Pipeline", "Store", "Settings", "BellhopRules", "ServiceRuntime"]
        ),
        tests(
            of: "Console",
            [
                "IntegrationSupport", "Commands", "Roles", "CLI", "Operations", "HTTPServer", "Postgres", "Store",
                "Settings", "BellhopJSON", "ServiceRuntime",
            ]
        ),
        .testTarget(
            name: "ProofTests",
            dependencies: [
                "IntegrationSupport", "TestSupport", "AMQP", "HTTPServer", "Postgres", "Store", "Pipeline", "Sandbox",
                "Cryptography", "Settings", "BellhopJSON", "BellhopRules", "ServiceRuntime",
            ],
            exclude: ["Producers"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RepositoryTests",
            dependencies: [
                "CommandLineSupport", "IntegrationSupport", "TestSupport", "Commands", "Roles", "CLI", "Sandbox",
                "Settings", "BellhopRules", "ServiceRuntime",
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

package.targets += annotating
