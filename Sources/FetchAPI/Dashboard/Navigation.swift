import FetchJobs
import HTTPTypes

/// The screens that every page leads to.
struct Navigation {
    struct Section {
        let title: String
        let items: [Item]
    }

    struct Item {
        let title: String
        let path: String
        /// The letter that leads to it after `g`; nil for none.
        let key: String?
        let isCurrent: Bool
    }

    /// A screen, and the letter that leads to it after `g`.
    typealias Screen = (title: String, path: String, key: Character?)

    /// All screens in their order, one a line.
    ///
    /// A visitor is shown those that ``DashboardAccess`` lets him open.
    static let screens: [(section: String, screens: [Screen])] = [
        (
            "Work",
            [
                ("Overview", "/dashboard", "o"),
                ("Jobs", "/dashboard/jobs", "j"),
                ("Questions", "/dashboard/questions", "q"),
                ("Groups", "/dashboard/groups", "g"),
                ("Schedules", "/dashboard/schedules", "s"),
            ]
        ),
        (
            "Traffic",
            [
                ("Hosts", "/dashboard/hosts", "h"),
                ("Flows", "/dashboard/flows", "f"),
                ("Webhooks", "/dashboard/webhooks", "w"),
            ]
        ),
        (
            "Stores",
            [
                ("Sessions", "/dashboard/sessions", "e"),
                ("Cookies", "/dashboard/cookies", "c"),
                ("Credentials", "/dashboard/credentials", "r"),
                ("Cache", "/dashboard/cache", "b"),
            ]
        ),
        (
            "Service",
            [
                ("Nodes", "/dashboard/nodes", "d"),
                ("Tenants", "/dashboard/tenants", "t"),
                ("Usage", "/dashboard/usage", "u"),
                ("Keys", "/dashboard/keys", "k"),
                ("Audit log", "/dashboard/audit", "a"),
                ("System", "/dashboard/system", "y"),
                ("API", "/docs", nil),
            ]
        ),
    ]

    let sections: [Section]

    /// - Parameters:
    ///   - role: The role of the visitor; nil for nobody, who is shown what is for everyone.
    ///   - path: The path of the page that is shown.
    init(for role: Role?, at path: String) {
        let open = Self.screens.map { section, screens in (section, screens.filter { Self.shows($0.path, to: role) }) }
        let current = open.flatMap(\.1).map(\.path).filter { Self.leads($0, to: path) }.max { $0.count < $1.count }
        sections = open.filter { !$0.1.isEmpty }.map { title, screens in
            let items = screens.map {
                Item(title: $0.title, path: $0.path, key: $0.key.map(String.init), isCurrent: $0.path == current)
            }
            return Section(title: title, items: items)
        }
    }

    private static func shows(_ path: String, to role: Role?) -> Bool {
        guard path.hasPrefix("/dashboard") else { return true }
        return role.map { DashboardAccess.allows($0, .get, path) } ?? false
    }

    /// Whether a page belongs to a screen: it is that one, or lies below it.
    private static func leads(_ screen: String, to path: String) -> Bool {
        path == screen || (screen != "/dashboard" && path.hasPrefix(screen + "/"))
    }
}

extension Navigation.Section: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "title": title
        case "items": items
        default: nil
        }
    }
}

extension Navigation.Item: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "title": title
        case "path": path
        case "key": Shown.of(key)
        case "isCurrent": isCurrent
        default: nil
        }
    }
}
