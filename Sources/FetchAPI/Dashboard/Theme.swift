import HTTPTypes

/// The colours of the pages.
enum Theme: String, CaseIterable {
    /// As the visitor's system has them.
    case system, light, dark

    private static let cookieName = "fetchd-theme"
    private static let lifetime = 365 * 86_400

    var title: String {
        switch self {
        case .system: "Auto"
        case .light: "Light"
        case .dark: "Dark"
        }
    }

    /// What the visitor of a page has chosen.
    init(of call: Call) {
        self = DashboardGate.cookie(Self.cookieName, in: call.headers).flatMap(Theme.init) ?? .system
    }

    /// The field that keeps the choice in the browser.
    ///
    /// It says nothing of who the visitor is, and grants nothing.
    var cookie: String {
        let age = self == .system ? 0 : Self.lifetime
        return "\(Self.cookieName)=\(rawValue); Max-Age=\(age); Path=/; HttpOnly; SameSite=Strict"
    }
}
