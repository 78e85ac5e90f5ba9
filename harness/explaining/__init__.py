"""Why a unit ended as it did, and why a request is not served by what is stored."""
