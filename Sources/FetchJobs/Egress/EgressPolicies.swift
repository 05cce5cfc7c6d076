package import FetchEngine

/// Where the loads of each tenant may go: what the settings open, and what the operator's documents leave of it.
package struct EgressPolicies: Sendable {
    /// That of the settings.
    private let standard: TargetPolicy
    /// Those that were stored once, by their owner; ``Tenant/ID/service`` is the owner of the one for all.
    package private(set) var documents: [Tenant.ID: EgressDocument] = [:]
    private var ofTenants: [Tenant.ID: TargetPolicy] = [:]

    /// The policy for what no tenant has asked for, and for tenants that have no document of their own.
    package private(set) var service: TargetPolicy

    package init(standard: TargetPolicy) {
        self.standard = standard
        service = standard
    }

    /// The policy for the loads of a tenant: it may reach what both its own document and that of the service allow.
    package func policy(of tenant: Tenant.ID) -> TargetPolicy { ofTenants[tenant] ?? service }

    /// The versions that are known.
    package var versions: [Tenant.ID: Int64] { documents.mapValues(\.version) }

    /// The same with documents that are newer than those here; others are left out.
    package func taking(_ newer: [Tenant.ID: EgressDocument]) -> Self {
        var result = self
        for (owner, document) in newer where document.version > documents[owner]?.version ?? 0 {
            result.documents[owner] = document
        }
        result.service = standard
        result.service.rules += [result.documents[.service]?.rules].compactMap { $0 }
        result.ofTenants = result.documents.compactMapValues { document in
            guard let own = document.rules else { return nil }
            var policy = result.service
            policy.rules.append(own)
            return policy
        }
        result.ofTenants[.service] = nil
        return result
    }
}
