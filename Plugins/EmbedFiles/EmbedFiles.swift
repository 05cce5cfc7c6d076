import Foundation
import PackagePlugin

/// Compiles text files of the repository into the target that owns them, as string literals of an `Embedded` enum.
///
/// Which files go where is decided here, in one table, so that `migrations/`, `openapi.yaml` and the dashboard's
/// assets stay where people look for them and the binary still needs no file beside it.
@main
struct EmbedFiles: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let root = context.package.directoryURL
        let files: [URL] =
            switch target.name {
            case "FetchStorage":
                try contents(of: root.appending(path: "migrations")).filter { $0.lastPathComponent != "schema.sql" }
            case "FetchAPI":
                try [root.appending(path: "openapi.yaml")]
                    + contents(of: root.appending(path: "Sources/FetchAPI/Dashboard/Assets"))
                    + contents(of: root.appending(path: "Sources/FetchAPI/Documentation/Assets"))
            default: []
            }
        let output = context.pluginWorkDirectoryURL.appending(path: "Embedded.swift")
        return [
            .buildCommand(
                displayName: "Embedding files into \(target.name)",
                executable: try context.tool(named: "embed-tool").url,
                arguments: [output.path()] + files.map { $0.path() },
                inputFiles: files,
                outputFiles: [output]
            )
        ]
    }

    private func contents(of directory: URL) throws -> [URL] {
        guard FileManager.default.fileExists(atPath: directory.path()) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .sorted { $0.path() < $1.path() }
    }
}
