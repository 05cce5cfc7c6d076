"""The surface for asyncio."""
