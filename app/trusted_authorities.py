"""Whose certificates are trusted, wherever something is called over https."""

import ssl

import httpx


def tls_context() -> ssl.SSLContext:
    """Trusts the bundled list of authorities and those that this machine trusts.

    An intranet's own authority is known to the machine alone: in its store of certificates, or by
    SSL_CERT_FILE and SSL_CERT_DIR, which OpenSSL reads as it does for every other program.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context
