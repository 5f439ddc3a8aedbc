class CreateGadgetDetails(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'display_name': 'str',
            'compartment_id': 'str',
            'size': 'str',
            'admin_password': 'str',
            'vault_secret_id': 'str',
            'parts': 'list[Part]',
            'tree': 'Tree',
            'options': 'CreateOptions',
            'freeform_tags': 'dict(str, str)',
            'defined_tags': 'dict(str, dict(str, object))',
        }
        self.attribute_map = {
            'display_name': 'displayName',
            'compartment_id': 'compartmentId',
            'size': 'size',
            'admin_password': 'adminPassword',
            'vault_secret_id': 'vaultSecretId',
            'parts': 'parts',
            'tree': 'tree',
            'options': 'options',
            'freeform_tags': 'freeformTags',
            'defined_tags': 'definedTags',
        }

    @property
    def display_name(self):
        """
        **[Required]** Gets the display_name.
        """
        return self._display_name

    @property
    def compartment_id(self):
        """
        **[Required]** Gets the compartment_id.
        """
        return self._compartment_id

    @property
    def size(self):
        """
        Gets the size.
        """
        return self._size

    @property
    def admin_password(self):
        """
        Gets the admin_password.
        """
        return self._admin_password

    @property
    def vault_secret_id(self):
        """
        Gets the vault_secret_id.
        """
        return self._vault_secret_id

    @property
    def parts(self):
        """
        Gets the parts.
        """
        return self._parts

    @property
    def tree(self):
        """
        Gets the tree.
        """
        return self._tree

    @property
    def freeform_tags(self):
        """
        Gets the freeform_tags.
        """
        return self._freeform_tags

    @property
    def defined_tags(self):
        """
        Gets the defined_tags.
        """
        return self._defined_tags

    @size.setter
    def size(self, size):
        allowed_values = ["SMALL", "LARGE"]
        self._size = size
