/// The frame around the content of every page.
struct PageFrame {
    let title: String
    /// Proves that a form on the page is ours; nil without a session.
    var formToken: String?
    /// What the visitor may do, as a word; nil without a session.
    var role: String?
    var showsAudit = false
}

/// A name and its value.
struct Fact {
    let name: String
    let value: String
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
    let script: String
}

/// A page with one sentence or more and nothing to do.
struct MessagePage {
    let frame: PageFrame
    let heading: String
    let paragraphs: [String]
}
