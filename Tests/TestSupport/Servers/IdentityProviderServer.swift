import Foundation

extension LoopbackServer {
    /// The password of all users of ``identityProvider(sendingBackTo:)``.
    package static let personPassword = "open sesame"

    /// An OpenID provider, which is django-oauth-toolkit; `Tests/OpenID/provider.py` says who its users and clients are.
    ///
    /// - Parameters:
    ///   - uri: Where it sends people back to, and nowhere else.
    ///   - port: Where it listens; one that is free by default.
    package static func identityProvider(sendingBackTo uri: String, port: UInt16? = nil) async throws -> LoopbackServer
    {
        let directory = try TemporaryDirectory()
        let port = try port ?? freePort()
        let script = FileManager.default.currentDirectoryPath + "/Tests/OpenID/provider.py"
        return try await LoopbackServer(
            in: directory, port: port, log: "log",
            [
                "/bin/sh", "-c", #"cd "$0" && exec "$@" 2>log"#, directory.path, python("python") ?? "python3", "-W",
                "ignore", script, "\(port)", uri,
            ])
    }
}
