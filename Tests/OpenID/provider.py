"""An OpenID provider for tests: django-oauth-toolkit on 127.0.0.1, with its database in the current directory.

    provider.py PORT REDIRECT_URI

Users have the password `open sesame`: ada is in the group `admins`, otto in `operators`, vera in `viewers`, and nemo in
`others`. The client `fetchd` has the secret `client:secret/+`; `public` has none. Nobody is asked for consent.
"""
import socketserver
import sys
import wsgiref.simple_server

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

PORT, REDIRECT_URI = sys.argv[1:]
PEOPLE = {"ada": ["admins"], "otto": ["operators", "viewers"], "vera": ["viewers"], "nemo": ["others"]}
LOGIN = """<!DOCTYPE html>
<title>Log in</title>
<form method="post">{% csrf_token %}{{ form }}<button>Log in</button></form>
"""


def signing_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {
        "ENGINE": "django.db.backends.sqlite3", "NAME": "provider.sqlite",
        "OPTIONS": {"timeout": 20, "init_command": "PRAGMA synchronous=OFF"},
    }},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider",
    ],
    LOGIN_URL="/login/",
    # The tables as they are now, without the way there, which takes seconds.
    MIGRATION_MODULES={name: None for name in ("auth", "contenttypes", "sessions", "oauth2_provider")},
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    OAUTH2_PROVIDER={
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "OAUTH2_VALIDATOR_CLASS": "__main__.Validator",
        "OIDC_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": signing_key(),
        "PKCE_REQUIRED": True,
        "SCOPES": {"openid": "Who you are"},
    },
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ROOT_URLCONF="__main__",
    SECRET_KEY="of tests",
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"login.html": LOGIN})]},
    }],
)
django.setup()

from django.contrib.auth import views  # noqa: E402
from django.contrib.auth.models import Group, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402


class Validator(OAuth2Validator):
    """Puts the groups of a person into the ID token."""

    oidc_claim_scope = None

    def get_additional_claims(self, request):
        return {"groups": [group.name for group in request.user.groups.all()], "tenant": "default"}


urlpatterns = [
    path("login/", views.LoginView.as_view(template_name="login.html")),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
]


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    """Answers each connection on a thread of its own."""

    daemon_threads = True


def main():
    call_command("migrate", run_syncdb=True, verbosity=0)
    for name, groups in PEOPLE.items():
        user = User.objects.create_user(name, password="open sesame")
        user.groups.set([Group.objects.get_or_create(name=group)[0] for group in groups])
    for name, kind in [("fetchd", Application.CLIENT_CONFIDENTIAL), ("public", Application.CLIENT_PUBLIC)]:
        Application.objects.create(
            name=name, client_id=name, client_secret="client:secret/+", client_type=kind,
            authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE, redirect_uris=REDIRECT_URI,
            skip_authorization=True, algorithm=Application.RS256_ALGORITHM)
    with wsgiref.simple_server.make_server("127.0.0.1", int(PORT), get_wsgi_application(), Server) as server:
        server.serve_forever()


main()
