import FetchJobs
import Hummingbird

/// The frame around the content of every page.
struct PageFrame {
    let title: String
    /// Proves that a form on the page is ours; nil without a session.
    var formToken: String?
    /// What the visitor may do, as a word; nil without a session.
    var role: String?
    /// The address of the page, which forms of the frame lead back to.
    var path = "/dashboard"
    /// The colours that the visitor has chosen; nil for those of his system.
    var theme: String?
    var themes: [ThemeButton] = []
    /// The screens that the page leads to.
    var sections = Navigation(for: nil, at: "").sections

    /// A choice of colours.
    struct ThemeButton {
        let name: String
        let title: String
        /// `true` for the one that is chosen, otherwise `false`.
        let pressed: String
    }
}

extension PageFrame {
    /// The frame of a page for somebody who has signed in.
    init(title: String, _ call: Call, _ session: DashboardSession) {
        let chosen = Theme(of: call)
        self.init(
            title: title, formToken: session.formToken, role: session.signIn.role.rawValue,
            path: DashboardRoutes.path(call.request.uri.string),
            theme: chosen == .system ? nil : chosen.rawValue,
            themes: Theme.allCases.map {
                ThemeButton(name: $0.rawValue, title: $0.title, pressed: $0 == chosen ? "true" : "false")
            },
            sections: Navigation(for: session.signIn.role, at: call.request.uri.path).sections)
    }
}

extension PageFrame: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "title": title
        case "formToken": Shown.of(formToken)
        case "role": Shown.of(role)
        case "path": path
        case "theme": Shown.of(theme)
        case "themes": themes
        case "sections": sections
        default: nil
        }
    }
}

extension PageFrame.ThemeButton: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "name": self.name
        case "title": title
        case "pressed": pressed
        default: nil
        }
    }
}

/// A name and its value.
struct Fact: MustacheParent {
    let name: String
    let value: String

    func child(named name: String) -> Any? {
        switch name {
        case "name": self.name
        case "value": value
        default: nil
        }
    }

    /// Lines of a list of facts.
    ///
    /// A page has hundreds of them, and a template takes longer for one than this for ten.
    static func markup(_ facts: [Fact]) -> String {
        var markup = ""
        for fact in facts {
            markup += "<div><dt>\(MarkupEscape.escaped(fact.name))</dt>"
            markup += "<dd>\(MarkupEscape.escaped(fact.value))</dd></div>\n"
        }
        return markup
    }
}

struct SignInPage {
    let frame: PageFrame
    /// A way to sign in elsewhere.
    struct Provider {
        let name: String
        let address: String
    }

    /// Where to go once signed in.
    let next: String
    let error: String?
    /// Nil where there is none.
    var provider: Provider?
}

/// The page that leads on once somebody has signed in at an identity provider.
struct WelcomePage {
    let frame: PageFrame
    let next: String
}

/// The page that a link from the terminal leads to.
struct LinkPage {
    let frame: PageFrame
    let error: String?
}

/// A page with one sentence or more and nothing to do.
struct MessagePage {
    let frame: PageFrame
    let heading: String
    let paragraphs: [String]
}
