// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the product's build knows nothing of the clients it is compared with.
let package = Package(
    name: "peers",
    platforms: [.macOS(.v26)],
    dependencies: [.package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0")],
    targets: [
        .executableTarget(
            name: "ahc-bench",
            dependencies: ["Measuring", .product(name: "AsyncHTTPClient", package: "async-http-client")]
        ),
        .executableTarget(name: "urlsession-bench", dependencies: ["Measuring"]),
        .target(name: "Measuring"),
    ]
)
