import FetchEngine
import FetchJobs
import FetchRuntime

/// Judges, by the policies of the moment, where the requests of tenants may go.
struct EgressGuard: Sendable {
    let known: KnownEgress
    let refusals: RefusedTargets

    private func targets(of tenant: Tenant.ID) -> TargetGuard {
        TargetGuard(policy: known.policy(of: tenant))
    }

    private func refusal(of url: URLRecord, for tenant: Tenant.ID) -> TargetRefusal? {
        do throws(TargetRefusal) {
            try targets(of: tenant).judge(url)
            return nil
        } catch { return error }
    }

    /// The verdict for a client who asks, which is no refusal yet.
    func judge(_ url: URLRecord, for tenant: Tenant.ID, _ look: TargetLook) async -> TargetJudgement {
        switch look {
        case .url: return TargetJudgement(refusal: refusal(of: url, for: tenant)?.told)
        case .addresses:
            let verdict = await targets(of: tenant).verdict(on: url) { host in
                await TargetGuard.lookUp(host, for: tenant.description)
            }
            return TargetJudgement(refusal: verdict.refusal?.told, resolves: verdict.resolves)
        }
    }

    /// Why an answer must not lead to a URL: it may lead where jobs may go.
    func refuseAnswer(_ url: URLRecord, for tenant: Tenant.ID) async -> String? {
        guard let refusal = refusal(of: url, for: tenant) else { return nil }
        refusals.note(RefusedTarget(url.redacted, refusal), of: tenant, by: .current)
        return refusal.message
    }

    /// Why an endpoint must not have a URL: webhooks may be sent where jobs may go, by https (SEC-35).
    ///
    /// Plain http is for addresses that the operator has opened by name: those of this machine, mostly.
    func refuseEndpoint(_ url: URLRecord, for tenant: Tenant.ID) async -> String? {
        if let refusal = refusal(of: url, for: tenant) {
            refusals.note(RefusedTarget(url.redacted, refusal), of: tenant, by: .current)
            return "\(refusal.message) (webhookURLForbidden)"
        }
        guard url.scheme != "https" else { return nil }
        do throws(TargetRefusal) {
            try TargetGuard(policy: .publicOnly).judge(url)
            return "must be an https URL (webhookURLForbidden)"
        } catch {
            return nil
        }
    }
}

extension TargetRefusal {
    fileprivate var told: (code: String, reason: String) { (code.name, "\(message) (\(code))") }
}
