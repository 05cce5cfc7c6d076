// swift-tools-version: 6.2
import PackageDescription

/// The settings that every target of ours is compiled with; CI adds `-Xswiftc -warnings-as-errors`.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// The packages of the service: one that uses the libraries alone does not resolve them.
let service = TargetDependencyCondition.when(traits: ["Service"])

let package = Package(
    name: "fetchd",
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "FetchEngine", targets: ["FetchEngine"]),
        .library(name: "FetchdClient", targets: ["FetchdClient"]),
        .executable(name: "fetchd", targets: ["fetchd"]),
    ],
    traits: [
        .default(enabledTraits: ["Service"]),
        .trait(name: "Service", description: "The service and its tests, beside the libraries."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration.git", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-structured-headers.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system.git", from: "1.8.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2"),
        .package(url: "https://github.com/vapor/jwt-kit.git", from: "5.7.1"),
    ],
    targets: [
        .plugin(name: "EmbedFiles", capability: .buildTool(), dependencies: ["embed-tool"]),
        .executableTarget(
            name: "embed-tool",
            dependencies: [.product(name: "Yams", package: "Yams", condition: service)],
            path: "Plugins/EmbedTool",
            swiftSettings: settings
        ),
        .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CGSSAPI", providers: [.apt(["libkrb5-dev"])]),
        .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
        .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("nghttp2")]),
        .target(
            name: "EventLoop",
            dependencies: ["CEpoll", .product(name: "HeapModule", package: "swift-collections")],
            swiftSettings: settings
        ),
        .target(
            name: "FetchEngine",
            dependencies: [
                "CBrotli", "CCurl", "CEpoll", "CGSSAPI", "CIDN2", "COpenSSL", "CPSL", "CZlib", "CZstd", "EventLoop",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FetchdClient",
            dependencies: ["FetchEngine", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings
        ),
        .target(
            name: "Postgres",
            dependencies: [
                "CLibPQ", "EventLoop",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PostgresCluster",
            dependencies: [
                "EventLoop", "Postgres",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
                .product(name: "Subprocess", package: "swift-subprocess", condition: service),
                .product(name: "SystemPackage", package: "swift-system", condition: service),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FetchJobs",
            dependencies: [
                "FetchEngine",
                .product(name: "Crypto", package: "swift-crypto", condition: service),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(
                    name: "RawStructuredFieldValues", package: "swift-http-structured-headers", condition: service),
                .product(name: "SystemPackage", package: "swift-system", condition: service),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FetchRuntime",
            dependencies: [
                "FetchJobs", "FetchEngine", .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FetchStorage",
            dependencies: [
                "COpenSSL", "FetchJobs", "FetchEngine", "FetchRuntime", "Postgres",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio", condition: service),
                .product(name: "Crypto", package: "swift-crypto", condition: service),
                .product(name: "_NIOFileSystem", package: "swift-nio", condition: service),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
                .product(name: "SystemPackage", package: "swift-system", condition: service),
            ],
            swiftSettings: settings,
            plugins: ["EmbedFiles"]
        ),
        .target(
            name: "FetchWorker",
            dependencies: [
                "FetchJobs", "FetchEngine", "FetchRuntime",
                .product(name: "Crypto", package: "swift-crypto", condition: service),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FetchAPI",
            dependencies: [
                "CZlib", "FetchJobs", "FetchRuntime",
                .product(name: "Crypto", package: "swift-crypto", condition: service),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird", condition: service),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: service),
                .product(name: "HummingbirdHTTP2", package: "hummingbird", condition: service),
                .product(name: "JWTKit", package: "jwt-kit", condition: service),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCertificateReloading", package: "swift-nio-extras", condition: service),
                .product(name: "NIOCore", package: "swift-nio", condition: service),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: service),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: service),
                .product(name: "NIOPosix", package: "swift-nio", condition: service),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: service),
                .product(name: "NIOTLS", package: "swift-nio", condition: service),
                .product(name: "NIOWebSocket", package: "swift-nio", condition: service),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
            ],
            exclude: ["Dashboard/Assets", "Documentation/Assets"],
            swiftSettings: settings,
            plugins: ["EmbedFiles"]
        ),
        .executableTarget(
            name: "fetchd",
            dependencies: [
                "EventLoop", "FetchAPI", "FetchEngine", "FetchJobs", "FetchRuntime", "FetchStorage", "FetchWorker",
                "Postgres", "PostgresCluster",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: service),
                .product(name: "Configuration", package: "swift-configuration", condition: service),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
                .product(name: "SystemPackage", package: "swift-system", condition: service),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: service),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "engine-bench",
            dependencies: [
                "EventLoop", "FetchEngine", "FetchJobs", "FetchdClient",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Benchmarks/EngineBench",
            swiftSettings: settings
        ),
        // The example of docs/delegate.md, as a program of its own.
        .executableTarget(
            name: "delegate-receiver",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto", condition: service),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird", condition: service),
            ],
            path: "Examples/DelegateReceiver"
        ),
        // The example of docs/how-to/swift-client.md.
        .executableTarget(
            name: "background-downloads",
            dependencies: ["FetchEngine", "FetchdClient"],
            path: "Examples/BackgroundDownloads",
            swiftSettings: settings
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "COpenSSL", "EventLoop", "FetchEngine", "FetchJobs", "FetchRuntime", "Postgres",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .testTarget(name: "EventLoopTests", dependencies: ["EventLoop"], swiftSettings: settings),
        .testTarget(
            name: "FetchEngineTests",
            dependencies: [
                "CCurl", "CGSSAPI", "COpenSSL", "EventLoop", "FetchEngine", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            resources: [.copy("Resources")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FetchdClientTests",
            dependencies: [
                "FetchEngine", "FetchdClient", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Yams", package: "Yams", condition: service),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "FetchAPI", "FetchEngine", "FetchJobs", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "EventLoop", "Postgres", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PostgresClusterTests",
            dependencies: [
                "EventLoop", "Postgres", "PostgresCluster", "TestSupport", "fetchd",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FetchJobsTests",
            dependencies: [
                "FetchEngine", "FetchJobs", "TestSupport", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            resources: [.copy("Resources/sigv4"), .copy("Resources/standard-webhooks")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FetchRuntimeTests",
            dependencies: ["FetchEngine", "FetchJobs", "FetchRuntime", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FetchStorageTests",
            dependencies: [
                "FetchEngine", "FetchJobs", "FetchRuntime", "FetchStorage", "Postgres", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FetchWorkerTests",
            dependencies: [
                "EventLoop", "FetchEngine", "FetchJobs", "FetchRuntime", "FetchStorage", "FetchWorker", "Postgres",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FetchAPITests",
            dependencies: [
                "FetchAPI", "FetchEngine", "FetchJobs", "FetchRuntime", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto", condition: service),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird", condition: service),
                .product(name: "JWTKit", package: "jwt-kit", condition: service),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: service),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: service),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: service),
                .product(name: "NIOPosix", package: "swift-nio", condition: service),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
                .product(name: "Yams", package: "Yams", condition: service),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                // The programs that these run are built beside them; named here, the longest of all compilations would
                // wait for them.
                "FetchEngine", "FetchJobs", "FetchRuntime", "FetchStorage", "FetchdClient", "Postgres", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Yams", package: "Yams", condition: service),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "fetchdTests",
            dependencies: [
                "FetchAPI", "FetchEngine", "FetchJobs", "FetchRuntime", "FetchStorage", "FetchWorker", "TestSupport",
                "fetchd",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: service),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams", condition: service),
            ],
            swiftSettings: settings
        ),
    ]
)

// Only scripts/fuzz builds the fuzzers, in a folder of their own: everything in them is compiled for fuzzing.
if Context.environment["FETCHD_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "FetchAPI", "FetchEngine", "FetchJobs", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/Fuzz/Harness",
            swiftSettings: settings,
            linkerSettings: [.unsafeFlags(["-use-ld=lld"])]
        )
    )
}
