extension AnyConfigurationGroup {
    /// Rules are a list: those of an upper layer come before those of lower ones, and none takes the place of another.
    static var rules: AnyConfigurationGroup {
        AnyConfigurationGroup(
            name: "rules",
            read: { reader, configuration in
                configuration.rules = reader.array(maximum: Rule.maximumRules)?.compactMap { Rule(reader: $0) } ?? []
            },
            write: { configuration, writer in
                guard !configuration.rules.isEmpty else { return }
                writer.member(
                    "rules",
                    array: { writer in
                        for rule in configuration.rules { writer.object(rule.write) }
                    })
            },
            override: { configuration, upper in configuration.rules = upper.rules + configuration.rules },
            apply: { _, _ in },
            take: { _, _ in },
            explain: { layers, writer in
                writer.array { writer in
                    for layer in layers {
                        for rule in layer.configuration.rules {
                            writer.object { writer in
                                writer.member("value", object: rule.write)
                                writer.member("from", RuleBook.Level(layer.source).rawValue)
                            }
                        }
                    }
                }
            }
        )
    }
}

extension RuleBook.Level {
    fileprivate init(_ source: EffectiveConfiguration.Source) {
        self =
            switch source {
            case .job: .job
            case .session: .session
            case .default: .service
            }
    }
}
