import ArgumentParser
import FetchAPI
import FetchEngine
import FetchRuntime

/// Commands about the settings themselves.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Shows what is set, and what can be.",
        subcommands: [ConfigShowCommand.self, ConfigListCommand.self, ConfigMetricsCommand.self]
    )
}

struct ConfigShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints every setting as \"serve\" would use it, one a line.",
        discussion: """
            Secrets are shown as <redacted>. A setting that cannot be used is an error with the exit code 78, as it is \
            for "serve".
            """
    )

    @Flag(help: "Adds where each value comes from: a flag, the environment, a file or the default.")
    var origin = false

    @OptionGroup var options: ServeOptions

    func run() throws {
        try ExitError.reportingNow {
            DescriptorLimits.raise()
            for setting in try options.settings().shown(try options.sources()) {
                let line = "\(setting.name)=\(setting.value ?? "")"
                print(origin ? "\(line)\t# \(setting.origin)" : line)
            }
        }
    }
}

struct ConfigListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints what can be set, with rules and defaults, as a table in Markdown."
    )

    func run() { print(Settings.markdown) }
}

struct ConfigMetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Prints the metrics of /metrics, with kinds, units and labels, as a table in Markdown."
    )

    func run() { print(MetricName.markdown) }
}

extension Settings {
    /// All settings as they hold, and where each value comes from.
    func shown(_ sources: SettingSources) -> [ShownSetting] {
        Self.table.map { setting in
            ShownSetting(
                name: setting.variable, value: setting.value(in: self),
                origin: sources.value(of: setting)?.origin ?? "default: \(setting.standard)")
        }
    }
}
