package import FetchEngine

/// A target that the guard has refused, as the audit log and the metrics tell of it.
package struct RefusedTarget: Sendable, Equatable {
    /// Without query and credentials; empty where the load's own URL is meant.
    package var url: String
    /// The code of the error: that of the rule, of a redirect or of a proxy.
    package let code: String
    /// The code of the rule.
    package let rule: String
    /// The operator's name for the rule, where it has one.
    package let name: String?

    package init(_ url: String, _ refusal: TargetRefusal) {
        self.init(url, code: refusal.code.name, refusal)
    }

    /// - Parameter refusal: Nil of a failure that no rule of the policy is the cause of, such as a host that the job itself
    ///   does not allow.
    package init(_ url: String, code: String, _ refusal: TargetRefusal?) {
        self.url = url
        self.code = code
        rule = refusal?.ruleCode.name ?? code
        name = refusal?.rule
    }

    /// `{"code", "rule", "name"}`: the code of the rule where it is another, and its name where it has one.
    package var details: RawJSON {
        RawJSON(
            JSONWriter.object { writer in
                writer.member("code", code)
                if rule != code { writer.member("rule", rule) }
                writer.member("name", name)
            })
    }
}
